/*
 * columns.c - decides what each column of a dataset is used for, checks it, and names
 * the features. rows_load.c reads the rows.
 */
#include "gbdt/columns.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "frame/dictionary.h"
#include "preprocess/reals.h"

#define NAMES_SHOWN 300

/* Columns of LIBSVM text (text/libsvm.h). */
#define LIBSVM_WEIGHT "weight"
#define LIBSVM_QUERY  "qid"

uint64_t gbdt_column_width(const struct frame_column *c)
{
    return c->kind == FRAME_SPARSE ? c->row.shape[0] : reals_width(c);
}

/* ---- What is wrong with a column ---- */

static int fail_missing(const struct frame *schema, const char *dataset,
                        const char *what, const char *column, struct error *err)
{
    char names[NAMES_SHOWN];

    frame_names(schema, names, sizeof names);
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "dataset \"%s\" has no column \"%s\"%s%s; it has %s", dataset,
                     column, *what ? ", which is its " : "", what, names);
}

/* A column of words that should have numbers; `train`: the training set has numbers. */
static int fail_words(const struct gbdt_dataset *dataset, const struct frame_column *c,
                      bool train, struct error *err)
{
    char such[ERROR_TEXT_MAX / 2] = "";
    const char *words = c->kind == FRAME_WORDS ? "words" : "texts";

    if (dataset->ds)
        dataset_odd_word(dataset->ds, dataset->config, c->name, such, sizeof such);
    if (train)
        return error_set(err, RAYTRAIN_ETYPE,
                         "dataset \"%s\": column \"%s\" has %s%s, but numbers in the "
                         "training set; correct the file, or list what means a missing "
                         "value in datasets.%s.missing",
                         dataset->name, c->name, words, such, dataset->name);
    return error_set(
        err, RAYTRAIN_ETYPE,
        "dataset \"%s\": column \"%s\" has %s%s, and trees need numbers: add an "
        "ordinal_encoder or a one_hot_encoder for it to `preprocessor`, or leave it "
        "out of datasets.%s.columns",
        dataset->name, c->name, words, such, dataset->name);
}

static int feature_check(const struct gbdt_dataset *dataset,
                         const struct frame_column *c, bool train, struct error *err)
{
    return c->kind == FRAME_NUMBERS || c->kind == FRAME_SPARSE
               ? 0
               : fail_words(dataset, c, train, err);
}

/* Label, weight and query must have one number per row. */
static int single_check(const struct frame *schema, const char *dataset,
                        const char *what, const char *column, struct error *err)
{
    const struct frame_column *c;

    if (!column)
        return 0;
    c = frame_find(schema, column);
    if (!c)
        return fail_missing(schema, dataset, what, column, err);
    if (c->kind == FRAME_WORDS && strcmp(what, "query") == 0)
        return 0; /* only where it changes matters */
    if (c->kind == FRAME_WORDS)
        return error_set(err, RAYTRAIN_ETYPE,
                         "dataset \"%s\": column \"%s\", which is its %s, has words; "
                         "add a label_encoder for it to `preprocessor`",
                         dataset, column, what);
    if (c->kind != FRAME_NUMBERS || reals_width(c) != 1)
        return error_set(
            err, RAYTRAIN_ETYPE,
            "dataset \"%s\": column \"%s\", which is its %s, must have one "
            "number a row",
            dataset, column, what);
    return 0;
}

static int margin_check(const struct frame *schema, const char *dataset,
                        const char *column, struct error *err)
{
    const struct frame_column *c = column ? frame_find(schema, column) : NULL;

    if (column && !c)
        return fail_missing(schema, dataset, "base_margin", column, err);
    if (c && (c->kind != FRAME_NUMBERS || gbdt_column_width(c) == 0))
        return error_set(
            err, RAYTRAIN_ETYPE,
            "dataset \"%s\": column \"%s\", which is its base_margin, must "
            "have numbers",
            dataset, column);
    return 0;
}

static int others_check(const struct gbdt_columns *columns, const struct frame *schema,
                        const char *dataset, struct error *err)
{
    const char *weight = gbdt_columns_weight(columns, schema);
    const char *qid = gbdt_columns_qid(columns, schema);

    if (single_check(schema, dataset, "label", columns->label, err) < 0 ||
        single_check(schema, dataset, "weight", weight, err) < 0 ||
        single_check(schema, dataset, "query", qid, err) < 0)
        return -1;
    return margin_check(schema, dataset, columns->margin, err);
}

/* ---- Weights and queries ---- */

static bool is_excluded(const struct gbdt_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->n_exclude; i++)
        if (strcmp(columns->exclude[i], name) == 0)
            return true;
    return false;
}

const char *gbdt_columns_weight(const struct gbdt_columns *columns,
                                const struct frame *schema)
{
    if (columns->weight_optional && !frame_find(schema, columns->weight))
        return NULL;
    return columns->weight;
}

const char *gbdt_columns_qid(const struct gbdt_columns *columns,
                             const struct frame *schema)
{
    if (columns->qid_optional && !frame_find(schema, columns->qid))
        return NULL;
    return columns->qid;
}

static void others_take(struct gbdt_columns *out, const struct gbdt_columns_use *use)
{
    const struct gbdt_config *cfg = use->config;

    out->label = use->label;
    out->weight = cfg->weight;
    out->qid = cfg->qid;
    out->margin = cfg->base_margin;
    out->exclude = cfg->exclude;
    out->n_exclude = cfg->n_exclude;
    out->libsvm = use->libsvm;
    if (use->libsvm && !cfg->weight && !is_excluded(out, LIBSVM_WEIGHT)) {
        out->weight = LIBSVM_WEIGHT;
        out->weight_optional = true;
    }
    if (use->libsvm && use->ranks && !cfg->qid && !is_excluded(out, LIBSVM_QUERY)) {
        out->qid = LIBSVM_QUERY;
        out->qid_optional = true;
    }
}

/* ---- Features ---- */

static bool is_other(const struct gbdt_columns *columns, const char *name)
{
    const char *const others[] = {columns->label, columns->weight, columns->qid,
                                  columns->margin};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] && strcmp(others[i], name) == 0)
            return true;
    return columns->libsvm &&
           (strcmp(name, LIBSVM_WEIGHT) == 0 || strcmp(name, LIBSVM_QUERY) == 0);
}

/* A misspelt name would leave its column among the features. */
static int exclude_check(const struct frame *schema, const char *dataset,
                         const struct gbdt_config *cfg, struct error *err)
{
    for (size_t i = 0; i < cfg->n_exclude; i++)
        if (!frame_find(schema, cfg->exclude[i]))
            return fail_missing(schema, dataset, "", cfg->exclude[i], err),
                   error_prefix(err, "exclude");
    return 0;
}

static bool needs_float64(raytrain_dtype dtype)
{
    return dtype == RAYTRAIN_FLOAT64 || dtype == RAYTRAIN_INT32 ||
           dtype == RAYTRAIN_UINT32 || dtype == RAYTRAIN_INT64 ||
           dtype == RAYTRAIN_UINT64;
}

static int feature_add(struct gbdt_columns *columns, const struct frame_column *c,
                       struct error *err)
{
    struct gbdt_column *add = &columns->list[columns->n++];

    snprintf(add->name, sizeof add->name, "%s", c->name);
    add->first = columns->features;
    add->width = gbdt_column_width(c);
    if (add->width > INT_MAX - columns->features)
        return error_set(err, RAYTRAIN_EINVAL,
                         "column \"%s\" has %llu features, which is too many", c->name,
                         (unsigned long long)add->width);
    columns->features += add->width;
    columns->sparse = columns->sparse || c->kind == FRAME_SPARSE;
    columns->wide = columns->wide || needs_float64(c->row.dtype);
    return 0;
}

static int categorical_check(const struct gbdt_columns *columns,
                             const struct frame *schema, const char *dataset,
                             const struct gbdt_config *cfg, struct error *err)
{
    for (size_t i = 0; i < cfg->n_categorical; i++) {
        const struct frame_column *c = frame_find(schema, cfg->categorical[i]);

        if (!c || is_other(columns, cfg->categorical[i]))
            return fail_missing(schema, dataset, "", cfg->categorical[i], err),
                   error_prefix(err, "categorical_features");
    }
    return 0;
}

static int features_add(struct gbdt_columns *out, const struct frame *schema,
                        const struct gbdt_dataset *dataset, struct error *err)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        const struct frame_column *c = &schema->columns[i];

        if (is_other(out, c->name) || is_excluded(out, c->name))
            continue;
        if (feature_check(dataset, c, false, err) < 0 || feature_add(out, c, err) < 0)
            return -1;
    }
    if (out->features == 0)
        return error_set(err, RAYTRAIN_EINVAL, "dataset \"%s\" has no features",
                         dataset->name);
    return 0;
}

int gbdt_columns_find(const struct frame *schema, const struct gbdt_columns_use *use,
                      struct gbdt_columns *out, struct error *err)
{
    int rc;

    *out =
        (struct gbdt_columns){.list = calloc(schema->n_columns + 1, sizeof *out->list)};
    if (!out->list)
        return error_no_memory(err);
    others_take(out, use);
    rc = others_check(out, schema, use->dataset.name, err);
    if (rc == 0)
        rc = exclude_check(schema, use->dataset.name, use->config, err);
    if (rc == 0)
        rc = features_add(out, schema, &use->dataset, err);
    if (rc == 0)
        rc = categorical_check(out, schema, use->dataset.name, use->config, err);
    if (rc < 0)
        gbdt_columns_clear(out);
    return rc;
}

int gbdt_columns_check(const struct gbdt_columns *columns, const struct frame *schema,
                       const struct gbdt_dataset *dataset, struct error *err)
{
    size_t next = 0;

    for (size_t i = 0; i < columns->n; i++) {
        const struct gbdt_column *want = &columns->list[i];
        const struct frame_column *c = frame_find_next(schema, want->name, &next);

        if (!c)
            return fail_missing(schema, dataset->name, "", want->name, err);
        if (feature_check(dataset, c, true, err) < 0)
            return -1;
        if (c->kind == FRAME_SPARSE && !columns->sparse)
            return error_set(err, RAYTRAIN_ETYPE,
                             "dataset \"%s\": column \"%s\" has sparse vectors, and "
                             "other numbers in the training set",
                             dataset->name, c->name);
        if (c->kind != FRAME_SPARSE && gbdt_column_width(c) != want->width)
            return error_set(
                err, RAYTRAIN_ETYPE,
                "dataset \"%s\": column \"%s\" has %llu numbers a row, and "
                "%llu in the training set",
                dataset->name, c->name, (unsigned long long)gbdt_column_width(c),
                (unsigned long long)want->width);
    }
    return others_check(columns, schema, dataset->name, err);
}

bool gbdt_columns_spares_queries(const struct gbdt_columns *columns,
                                 const struct frame *schema)
{
    return columns->libsvm && !columns->qid && !is_excluded(columns, LIBSVM_QUERY) &&
           frame_find(schema, LIBSVM_QUERY);
}

static bool gbdt_column_is_used(const struct gbdt_columns *columns,
                                const struct frame *schema, const char *name)
{
    const char *const others[] = {columns->label, gbdt_columns_weight(columns, schema),
                                  gbdt_columns_qid(columns, schema), columns->margin};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] && strcmp(others[i], name) == 0)
            return true;
    return is_excluded(columns, name) ||
           (gbdt_columns_spares_queries(columns, schema) &&
            strcmp(name, LIBSVM_QUERY) == 0);
}

int gbdt_columns_unused(const struct gbdt_columns *columns, const struct frame *schema,
                        char *text, size_t size, struct error *err)
{
    bool *unused = calloc(schema->n_columns + 1, sizeof *unused);
    size_t next = 0;

    if (!unused)
        return error_no_memory(err);
    for (size_t i = 0; i < schema->n_columns; i++)
        unused[i] = !gbdt_column_is_used(columns, schema, schema->columns[i].name);
    for (size_t i = 0; i < columns->n; i++) {
        const struct frame_column *c =
            frame_find_next(schema, columns->list[i].name, &next);

        if (c)
            unused[c - schema->columns] = false;
    }
    frame_names_of(schema, unused, text, size);
    free(unused);
    return 0;
}

void gbdt_columns_clear(struct gbdt_columns *columns)
{
    free(columns->list);
    memset(columns, 0, sizeof *columns);
}

/* ---- Names ---- */

static int feature_name_make(const struct gbdt_column *c, uint64_t i, char **name)
{
    if (c->width == 1)
        return (*name = strdup(c->name)) ? 0 : -1;
    if (asprintf(name, "%s_%llu", c->name, (unsigned long long)i) >= 0)
        return 0;
    *name = NULL;
    return -1;
}

static bool is_categorical(const struct gbdt_config *cfg, const char *name)
{
    for (size_t i = 0; i < cfg->n_categorical; i++)
        if (strcmp(cfg->categorical[i], name) == 0)
            return true;
    return false;
}

/* The column that has feature `i`. */
static const char *feature_column(const struct gbdt_columns *columns, uint64_t i)
{
    size_t k = 0;

    while (k + 1 < columns->n && i >= columns->list[k + 1].first)
        k++;
    return columns->list[k].name;
}

/* "x_0" may be a column as well as the first element of a column "x" of vectors. */
static int names_check(const struct gbdt_columns *columns,
                       const struct gbdt_features *features, struct error *err)
{
    struct dictionary *names = dictionary_create();
    int rc = names ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && features->names && i < features->n; i++) {
        const char *name = features->names[i];
        int32_t code;

        rc = dictionary_add(names, name, strlen(name), &code, err);
        if (rc == 0 && (size_t)code < i)
            rc = error_set(err, RAYTRAIN_EINVAL,
                           "two features have the name \"%s\", one of the column "
                           "\"%s\" and one of the column \"%s\": rename a column, or "
                           "leave one out with the key exclude",
                           name, feature_column(columns, (uint64_t)code),
                           feature_column(columns, i));
    }
    dictionary_destroy(names);
    return rc;
}

int gbdt_columns_features(const struct gbdt_columns *columns,
                          const struct gbdt_config *cfg, struct gbdt_features *out,
                          struct error *err)
{
    bool named = columns->features <= GBDT_NAMES_MAX;
    int rc = 0;

    *out = (struct gbdt_features){.n = columns->features};
    if (named && !(out->names = calloc(out->n + 1, sizeof *out->names)))
        rc = -1;
    if (cfg->n_categorical > 0 && !(out->categorical = calloc(out->n + 1, 1)))
        rc = -1;
    for (size_t k = 0; rc == 0 && k < columns->n; k++) {
        const struct gbdt_column *c = &columns->list[k];

        for (uint64_t i = 0; rc == 0 && i < c->width; i++) {
            if (named)
                rc = feature_name_make(c, i, &out->names[c->first + i]);
            if (out->categorical)
                out->categorical[c->first + i] = is_categorical(cfg, c->name);
        }
    }
    rc = rc < 0 ? error_no_memory(err) : names_check(columns, out, err);
    if (rc < 0)
        gbdt_features_clear(out);
    return rc;
}
