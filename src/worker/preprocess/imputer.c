/*
 * imputer.c - simple_imputer: the mean, the most frequent value or a constant replaces
 * missing values. Among equally frequent values the smallest is taken, as in
 * scikit-learn. A column that does not exist gets the value in every row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/moments.h"
#include "preprocess/scaling.h"
#include "preprocess/tally.h"

union imputer_fit {
    struct moments moments;
    struct tally tally;
};

struct imputer_state {
    union imputer_fit of;
    bool is_tally;
};

static bool imputer_is_given(const struct preprocessor_config *config)
{
    return config->strategy == IMPUTER_CONSTANT;
}

static int imputer_begin(const struct preprocessor *p, void *fit,
                         const struct frame_column *c, struct error *err)
{
    struct imputer_state *s = fit;

    s->is_tally = p->config->strategy == IMPUTER_MOST_FREQUENT;
    if (s->is_tally)
        return tally_create(&s->of.tally, p->ops->name, c, err);
    if (reals_check(p->ops->name, c, err) < 0)
        return -1;
    return moments_create(&s->of.moments, reals_width(c), err);
}

static int imputer_rows(const struct preprocessor *p, void *fit,
                        const struct frame_column *c, uint64_t rows, struct error *err)
{
    struct imputer_state *s = fit;

    (void)p;
    if (s->is_tally)
        return tally_add(&s->of.tally, c, rows, err);
    moments_add(&s->of.moments, c, rows);
    return 0;
}

static int no_values(const struct frame_column *c, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL,
                     "simple_imputer: all values of column \"%s\" are missing",
                     c->name);
}

static int imputer_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                       struct comm *comm, bool *again, struct error *err)
{
    struct imputer_state *s = fit;
    struct moments *m = &s->of.moments;
    struct fitted_item *item;

    *again = false;
    if (s->is_tally) {
        if (tally_reduce(&s->of.tally, comm, err) < 0)
            return -1;
        if (s->of.tally.n == 0)
            return no_values(c, err);
        return tally_save(&s->of.tally, 1, c->name, &p->fitted, err);
    }
    if (moments_reduce(m, comm, err) < 0 || !(item = scaling_item(p, c, "mean", err)))
        return -1;
    for (size_t j = 0; j < m->width; j++) {
        if (m->of[j].n == 0)
            return no_values(c, err);
        item->reals[j] = m->of[j].mean;
    }
    return 0;
}

static void imputer_free(void *fit)
{
    struct imputer_state *s = fit;

    if (s->is_tally)
        tally_free(&s->of.tally);
    else
        moments_free(&s->of.moments);
}

/* ---- The values that replace missing ones ---- */

struct filling {
    size_t width;
    int32_t code;  /* of a word */
    double fill[]; /* of numbers, by element */
};

static int words_plan(struct column_plan *plan, const struct frame_column *in,
                      const char *word, size_t n, struct error *err)
{
    struct filling *fill = malloc(sizeof *fill);
    unsigned char *bytes = NULL;
    size_t n_bytes;
    int rc = 0;

    if (!fill)
        return error_no_memory(err);
    plan->state = fill;
    *fill = (struct filling){.code = dictionary_find(in->words, word, n)};
    plan->in_place = true;
    if (fill->code >= 0)
        return 0;
    plan->owned = dictionary_create();
    if (!plan->owned)
        return error_no_memory(err);
    plan->like.words = plan->owned;
    rc = dictionary_pack(in->words, &bytes, &n_bytes, err);
    if (rc == 0)
        rc = dictionary_unpack(plan->owned, bytes, n_bytes, NULL, err);
    if (rc == 0)
        rc = dictionary_add(plan->owned, word, n, &fill->code, err);
    free(bytes);
    return rc;
}

static int numbers_plan(struct column_plan *plan, const struct frame_column *in,
                        const double *values, bool each, struct error *err)
{
    size_t width = reals_width(in);
    struct filling *fill = malloc(sizeof *fill + (width + 1) * sizeof *fill->fill);

    if (!fill)
        return error_no_memory(err);
    plan->state = fill;
    fill->width = width;
    for (size_t j = 0; j < width; j++)
        fill->fill[j] = values[each ? j : 0];
    if (reals_is_float(in->row.dtype))
        scaling_type(plan, in);
    else
        plan->in_place = true;
    return 0;
}

static int frequent_plan(struct column_plan *plan, const struct frame_column *in,
                         const struct fitted_item *item, struct error *err)
{
    double value;
    size_t n;
    const char *word;

    if (item->type == FITTED_WORDS && in->kind == FRAME_WORDS) {
        word = dictionary_word(item->words, 0, &n);
        return words_plan(plan, in, word, n, err);
    }
    if (item->type == FITTED_WORDS || in->kind != FRAME_NUMBERS)
        return error_set(
            err, RAYTRAIN_ETYPE,
            "simple_imputer: column \"%s\" is of another kind than the one "
            "that was fitted",
            in->name);
    value = item->type == FITTED_REALS ? item->reals[0] : (double)item->integers[0];
    return numbers_plan(plan, in, &value, false, err);
}

static int constant_plan(struct column_plan *plan, const struct frame_column *in,
                         struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;

    if (config->fill_text && in->kind == FRAME_WORDS)
        return words_plan(plan, in, config->fill_text, strlen(config->fill_text), err);
    if (!config->has_fill_number || in->kind != FRAME_NUMBERS)
        return error_set(
            err, RAYTRAIN_ETYPE,
            "simple_imputer: fill_value is a %s, which does not fit column "
            "\"%s\"",
            config->fill_text ? "string" : "number", in->name);
    if (reals_check("simple_imputer", in, err) < 0)
        return -1;
    return numbers_plan(plan, in, &config->fill_number, false, err);
}

static int imputer_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    const struct fitted_item *item;
    const double *mean;

    if (config->strategy == IMPUTER_CONSTANT)
        return constant_plan(plan, in, err);
    if (config->strategy == IMPUTER_MEAN)
        return scaling_find(plan, in, "mean", &mean, err) < 0
                   ? -1
                   : numbers_plan(plan, in, mean, true, err);
    item = fitted_find(&plan->p->fitted, config->columns[plan->source], "categories");
    if (!item || item->n != 1)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "simple_imputer: nothing was learned about column \"%s\"",
                         in->name);
    return frequent_plan(plan, in, item, err);
}

/* ---- Columns that do not exist get the same value in every row, as in Ray ---- */

static int absent_words(struct column_plan *plan, const char *word, size_t n,
                        struct error *err)
{
    struct frame_column in = {.kind = FRAME_WORDS};
    struct dictionary *none = dictionary_create();
    int rc;

    if (!none)
        return error_no_memory(err);
    in.words = none;
    plan->like.kind = FRAME_WORDS;
    rc = words_plan(plan, &in, word, n, err);
    dictionary_destroy(none);
    return rc;
}

/* `item` NULL: a single number, as in a column without dimensions. */
static int absent_numbers(struct column_plan *plan, const struct fitted_item *item,
                          double value, struct error *err)
{
    plan->like.kind = FRAME_NUMBERS;
    plan->like.row = (raytrain_tensor){.dtype = RAYTRAIN_FLOAT64};
    for (int i = 0; item && i < item->ndim; i++)
        plan->like.row.shape[plan->like.row.ndim++] = item->shape[i];
    return numbers_plan(plan, &plan->like, item ? item->reals : &value, item != NULL,
                        err);
}

static int imputer_plan_absent(struct column_plan *plan, struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    const char *column = config->columns[plan->source], *word;
    bool is_mean = config->strategy == IMPUTER_MEAN;
    const struct fitted_item *item =
        fitted_find(&plan->p->fitted, column, is_mean ? "mean" : "categories");
    size_t n;

    if (config->strategy == IMPUTER_CONSTANT)
        return config->fill_text ? absent_words(plan, config->fill_text,
                                                strlen(config->fill_text), err)
                                 : absent_numbers(plan, NULL, config->fill_number, err);
    if (!item || (is_mean && item->type != FITTED_REALS) || item->n == 0)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "simple_imputer: nothing was learned about column \"%s\"",
                         column);
    if (is_mean)
        return absent_numbers(plan, item, 0, err);
    if (item->type == FITTED_REALS)
        return absent_numbers(plan, NULL, item->reals[0], err);
    if (item->type == FITTED_INTEGERS)
        return absent_numbers(plan, NULL, (double)item->integers[0], err);
    word = dictionary_word(item->words, 0, &n);
    return absent_words(plan, word, n, err);
}

static int imputer_map_absent(const struct column_plan *plan,
                              const struct frame_column *in, uint64_t rows,
                              struct frame_column *out, struct error *err)
{
    const struct filling *fill = plan->state;
    int32_t *codes = (int32_t *)(void *)out->data;
    double *numbers = (double *)(void *)out->data;

    (void)in, (void)err;
    for (uint64_t i = 0; i < rows && out->kind == FRAME_WORDS; i++)
        codes[i] = fill->code;
    for (uint64_t i = 0; i < rows && out->kind == FRAME_NUMBERS; i++)
        for (size_t j = 0; j < fill->width; j++)
            numbers[i * fill->width + j] = fill->fill[j];
    return 0;
}

/* ---- Filling ---- */

static void numbers_fill(const struct filling *fill, const struct frame_column *in,
                         uint64_t rows, struct frame_column *out)
{
    size_t n = (size_t)rows * fill->width;
    double x[REALS_BLOCK];

    for (size_t done = 0, step; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(in, done, step, x);
        for (size_t i = 0; i < step; i++)
            if (isnan(x[i]))
                x[i] = fill->fill[(done + i) % fill->width];
        reals_store(out, done, step, x);
    }
}

static int imputer_map(const struct column_plan *plan, const struct frame_column *in,
                       uint64_t rows, struct frame_column *out, struct error *err)
{
    const struct filling *fill = plan->state;
    const int32_t *codes = (const int32_t *)(const void *)in->data;
    int32_t *to = (int32_t *)(void *)out->data;

    (void)err;
    if (in->kind == FRAME_WORDS) {
        for (uint64_t i = 0; i < rows; i++)
            to[i] = codes[i] < 0 ? fill->code : codes[i];
    } else if (reals_is_float(in->row.dtype)) {
        numbers_fill(fill, in, rows, out);
    } else if (in != out) {
        memcpy(out->data, in->data, (size_t)rows * frame_row_bytes(in));
    }
    return 0;
}

const struct preprocessor_ops preprocessor_simple_imputer = {
    .name = "simple_imputer",
    .reads_words = true,
    .is_given = imputer_is_given,
    .fit_size = sizeof(struct imputer_state),
    .fit_begin = imputer_begin,
    .fit_rows = imputer_rows,
    .fit_end = imputer_end,
    .fit_free = imputer_free,
    .plan = imputer_plan,
    .map = imputer_map,
    .plan_absent = imputer_plan_absent,
    .map_absent = imputer_map_absent,
};
