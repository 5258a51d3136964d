/* lightgbm_data.c - makes datasets of the library from rows. See lightgbm_state.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lightgbm/lightgbm_names.h"
#include "lightgbm/lightgbm_params.h"
#include "lightgbm/lightgbm_sample.h"
#include "lightgbm/lightgbm_state.h"

/* Rows that are predicted or copied at a time. */
#define BLOCK_ROWS 65536

static void goes_on(const struct booster *b)
{
    if (b->env.goes_on)
        b->env.goes_on(b->env.arg);
}

static int rows_refuse(const struct gbdt_rows *rows, struct error *err)
{
    return error_set(err, RAYTRAIN_EFIT,
                     "the dataset %s has %llu rows on this worker, and that is more "
                     "than LightGBM can count: use more workers",
                     rows->name, (unsigned long long)rows->n);
}

static int size_check(const struct gbdt_rows *rows, struct error *err)
{
    return rows->n > INT_MAX || rows->features > INT_MAX ? rows_refuse(rows, err) : 0;
}

/* ---- The scores from which training starts: margins, and those of the old model
 * ---- */

/* Add the old model's scores for some rows in the order in which training added them.
 * If there are margins, round by round; otherwise the library adds them in this
 * order. */
static int old_add(const struct booster *b, const struct gbdt_rows *rows,
                   uint64_t first, uint64_t n, int classes, double *scores,
                   struct error *err)
{
    const struct lightgbm_state *s = b->impl;
    const int rounds = lightgbm_model_rounds(s->l, s->old, err);
    struct lightgbm_request request = {s->old, LIGHTGBM_RAW, 0, -1, b->env.threads};
    double *block;
    int rc = 0;

    if (rounds < 0)
        return -1;
    block = malloc((size_t)n * (size_t)classes * sizeof *block);
    if (!block)
        return error_no_memory(err);
    if (rows->margin)
        request.rounds = 1;
    for (int r = 0; rc == 0 && r < (rows->margin ? rounds : 1); r++) {
        request.first_round = r;
        rc = lightgbm_rows_predict(s->l, &request, rows, first, n, block, err);
        for (uint64_t i = 0; rc == 0 && i < n; i++)
            for (uint64_t k = 0; k < (uint64_t)classes; k++)
                scores[k * rows->n + first + i] += block[i * (uint64_t)classes + k];
    }
    free(block);
    return rc;
}

/* The initial scores, one class after the other, as in the library. *out is NULL if
 * there are none. */
static int scores_make(const struct booster *b, const struct gbdt_rows *rows,
                       double **out, int *n_out, struct error *err)
{
    const struct lightgbm_state *s = b->impl;
    int classes = (int)rows->margins, rc = 0;
    double *scores;

    *out = NULL;
    *n_out = 0;
    if (!s->old && !rows->margin)
        return 0;
    if (s->old && s->l->BoosterNumModelPerIteration(s->old, &classes) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "has no classes", err);
    if (rows->margin && rows->margins != (uint64_t)classes)
        return error_set(err, RAYTRAIN_EINVAL,
                         "base_margin of dataset %s has %llu numbers in a row, and the "
                         "model has %d",
                         rows->name, (unsigned long long)rows->margins, classes);
    if (rows->n * (uint64_t)classes > INT_MAX)
        return rows_refuse(rows, err);
    scores = calloc(rows->n * (uint64_t)classes + 1, sizeof *scores);
    if (!scores)
        return error_no_memory(err);
    for (uint64_t i = 0; rows->margin && i < rows->n; i++)
        for (uint64_t k = 0; k < (uint64_t)classes; k++)
            scores[k * rows->n + i] = rows->margin[i * (uint64_t)classes + k];
    for (uint64_t i = 0; rc == 0 && s->old && i < rows->n; i += BLOCK_ROWS) {
        uint64_t n = rows->n - i < BLOCK_ROWS ? rows->n - i : BLOCK_ROWS;

        rc = old_add(b, rows, i, n, classes, scores, err);
        goes_on(b);
    }
    if (rc < 0) {
        free(scores);
        return -1;
    }
    *out = scores;
    *n_out = (int)rows->n * classes;
    return 0;
}

/* ---- A dataset ---- */

/* For linear trees the library keeps only the last block of rows, so there is only
 * one. */
static uint64_t lightgbm_block_rows(const struct booster *b,
                                    const struct gbdt_rows *rows)
{
    static const char *const keys[] = {"linear_tree", "linear_trees", NULL};
    static const char *const values[] = {"true", "+", NULL};

    return lightgbm_params_has(&b->env, keys, values) ? rows->n : BLOCK_ROWS;
}

static int rows_push(const struct booster *b, lightgbm_dataset data,
                     const struct gbdt_rows *rows, struct error *err)
{
    const struct lightgbm *l = ((struct lightgbm_state *)b->impl)->l;
    const int type =
        rows->dtype == RAYTRAIN_FLOAT32 ? LIGHTGBM_FLOAT32 : LIGHTGBM_FLOAT64;
    const size_t row =
        rows->features * (type == LIGHTGBM_FLOAT32 ? sizeof(float) : sizeof(double));
    const uint64_t block = lightgbm_block_rows(b, rows);
    int rc = 0;

    if (rows->sparse)
        rc = l->DatasetPushRowsByCSR(data, rows->offsets, LIGHTGBM_INT64,
                                     (const int32_t *)rows->indices, rows->values, type,
                                     (int64_t)rows->n + 1, (int64_t)rows->n_values,
                                     (int64_t)rows->features, 0);
    for (uint64_t i = 0; rc == 0 && !rows->sparse && i < rows->n; i += block) {
        uint64_t n = rows->n - i < block ? rows->n - i : block;

        rc = l->DatasetPushRows(data, (const char *)rows->values + i * row, type,
                                (int32_t)n, (int32_t)rows->features, (int32_t)i);
        goes_on(b);
    }
    return rc == 0 ? 0 : lightgbm_fail(l, RAYTRAIN_EFAILED, "takes no rows", err);
}

/* Set the field even without values: a dataset that is made like the training set has
 * its fields, with numbers that are not set. */
static int field_set(const struct lightgbm *l, lightgbm_dataset data,
                     const struct gbdt_rows *rows, const char *field,
                     const void *values, int n, int type, struct error *err)
{
    char what[RAYTRAIN_NAME_MAX + 64];

    if (l->DatasetSetField(data, field, values, values ? n : 0, type) == 0)
        return 0;
    snprintf(what, sizeof what, "refuses the %s of dataset %s", field, rows->name);
    return lightgbm_fail(l, RAYTRAIN_EINVAL, what, err);
}

static int fields_set(const struct lightgbm *l, lightgbm_dataset data,
                      const struct gbdt_rows *rows, struct error *err)
{
    const int n = (int)rows->n;

    return field_set(l, data, rows, "label", rows->label, n, LIGHTGBM_FLOAT32, err) <
                       0 ||
                   field_set(l, data, rows, "weight", rows->weight, n, LIGHTGBM_FLOAT32,
                             err) < 0 ||
                   field_set(l, data, rows, "group", rows->groups, (int)rows->n_groups,
                             LIGHTGBM_INT32, err) < 0
               ? -1
               : 0;
}

/* Copy rows into the library, with labels, weights and so on, and free their values. */
static int set_fill(struct booster *b, struct lightgbm_set *set, struct gbdt_rows *rows,
                    struct error *err)
{
    const struct lightgbm *l = ((struct lightgbm_state *)b->impl)->l;
    double *scores;
    int n, rc = scores_make(b, rows, &scores, &n, err);

    if (rc == 0)
        rc = rows_push(b, set->data, rows, err);
    gbdt_rows_drop_values(rows);
    if (rc == 0)
        rc = fields_set(l, set->data, rows, err);
    if (rc == 0 && scores)
        rc = field_set(l, set->data, rows, "init_score", scores, n, LIGHTGBM_FLOAT64,
                       err);
    free(scores);
    return rc < 0 ? -1 : lightgbm_set_measure(l, set, err);
}

/* ---- The training set ---- */

static int names_set(const struct booster *b, lightgbm_dataset data, struct error *err)
{
    const struct lightgbm *l = ((struct lightgbm_state *)b->impl)->l;
    const struct gbdt_features *f = b->env.features;
    char **names;
    int rc = 0;

    if (!f || !f->names)
        return 0;
    names = lightgbm_names_make(f->names, f->n, err);
    if (!names)
        return -1;
    if (l->DatasetSetFeatureNames(data, (const char **)names, (int)f->n) != 0)
        rc = lightgbm_fail(l, RAYTRAIN_EINVAL, "refuses the names of columns", err);
    lightgbm_names_free(names, f->n);
    return rc;
}

/* The library replaces pointers in its arguments, so it gets copies of the arrays. */
static int train_create(const struct booster *b, struct lightgbm_sample *sample,
                        const struct gbdt_rows *rows, lightgbm_dataset *out,
                        struct error *err)
{
    const struct lightgbm_state *s = b->impl;
    const size_t n = sample->columns + 1;
    double **values = malloc(n * sizeof *values);
    int **indices = malloc(n * sizeof *indices);
    int rc = values && indices ? 0 : error_no_memory(err);

    if (rc == 0) {
        memcpy(values, sample->values, n * sizeof *values);
        memcpy(indices, sample->indices, n * sizeof *indices);
        if (s->l->DatasetCreateFromSampledColumn(
                values, indices, (int32_t)sample->columns, sample->n, sample->rows,
                (int32_t)rows->n, (int64_t)rows->all, s->params, out) != 0)
            rc = lightgbm_fail(s->l, RAYTRAIN_EINVAL, "cannot make bins", err);
    }
    free(values);
    free(indices);
    return rc;
}

/* Make the training set, with the bins that one process with all rows would make. */
static int train_make(struct booster *b, const struct gbdt_rows *rows,
                      lightgbm_dataset *out, struct error *err)
{
    const struct lightgbm_state *s = b->impl;
    struct lightgbm_sample sample;
    int rc;

    if (lightgbm_sample_take(&sample, s->l, s->comm, rows, s->params, err) < 0)
        return -1;
    goes_on(b);
    rc = train_create(b, &sample, rows, out, err);
    lightgbm_sample_clear(&sample);
    goes_on(b);
    return rc == 0 ? names_set(b, *out, err) : -1;
}

static int set_make(struct booster *b, struct lightgbm_set *set, struct gbdt_rows *rows,
                    struct error *err)
{
    struct lightgbm_state *s = b->impl;

    if (set == s->sets.list)
        return 0; /* train_make() has made it */
    if (s->l->DatasetCreateByReference(s->sets.list[0].data, (int64_t)rows->n,
                                       &set->data) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "cannot make a dataset", err);
    return 0;
}

int lightgbm_data_add(struct booster *b, struct gbdt_rows *rows, struct error *err)
{
    struct lightgbm_state *s = b->impl;
    struct lightgbm_set *set;
    struct lightgbm_set *grown =
        realloc(s->sets.list, (s->sets.n + 1) * sizeof *s->sets.list);
    int rc = grown ? size_check(rows, err) : error_no_memory(err), number = 0;

    if (grown)
        s->sets.list = grown;
    if (s->comm)
        rc = comm_agree(s->comm, rc, err);
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < s->sets.n; i++)
        number += s->sets.list[i].data != NULL;
    set = &s->sets.list[s->sets.n++];
    memset(set, 0, sizeof *set);
    set->number = number;
    snprintf(set->name, sizeof set->name, "%s", rows->name);
    if (s->sets.n == 1)
        rc = train_make(b, rows, &set->data, err);
    if (rc == 0 && rows->n > 0)
        rc = set_make(b, set, rows, err);
    if (rc == 0 && set->data)
        rc = set_fill(b, set, rows, err);
    return s->comm ? comm_agree(s->comm, rc, err) : rc;
}
