/*
 * encoder.c - categorizer, ordinal_encoder and label_encoder: words and numbers become
 * the numbers of their categories, which are sorted. An unseen category becomes NaN, or
 * -1 if dtype is an integer type; for categorizer, and in lists, a missing word.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/categories.h"
#include "preprocess/reals.h"
#include "preprocess/tally.h"

static raytrain_dtype encoded_dtype(const struct preprocessor_config *config)
{
    for (raytrain_dtype t = RAYTRAIN_FLOAT32; config->dtype && t < RAYTRAIN_BYTES; t++)
        if (!strcmp(raytrain_dtype_name(t), config->dtype))
            return t;
    return RAYTRAIN_FLOAT64;
}

/* ---- Words become words of a dictionary of the categories ---- */

static void words_like(struct column_plan *plan)
{
    const struct categories *s = plan->state;

    plan->like.words = s->of->words;
    plan->in_place = plan->like.kind == FRAME_WORDS;
}

static int words_map(const struct column_plan *plan, const struct frame_column *in,
                     uint64_t rows, struct frame_column *out, struct error *err)
{
    bool lists = in->kind == FRAME_WORD_LISTS;
    uint64_t n = lists && rows > 0 ? in->offsets[rows] : lists ? 0 : rows;
    size_t step;

    if (lists && frame_reserve(out, rows, n, err) < 0)
        return -1;
    if (lists) {
        out->offsets[0] = 0;
        for (uint64_t i = 0; i < rows; i++)
            out->offsets[i + 1] = in->offsets[i + 1];
        out->n_data = n;
    }
    for (uint64_t done = 0; done < n; done += step) {
        step = n - done < CATEGORIES_BLOCK ? (size_t)(n - done) : CATEGORIES_BLOCK;
        if (categories_find(plan, in, (size_t)done, step, true,
                            (int32_t *)(void *)out->data + done, err) < 0)
            return -1;
    }
    return 0;
}

static int categorizer_plan(struct column_plan *plan, const struct frame_column *in,
                            struct error *err)
{
    if (categories_plan(plan, in, err) < 0)
        return -1;
    if (in->kind == FRAME_NUMBERS)
        return error_set(err, RAYTRAIN_ETYPE,
                         "categorizer: column \"%s\" consists of numbers; use "
                         "ordinal_encoder",
                         in->name);
    words_like(plan);
    return 0;
}

const struct preprocessor_ops preprocessor_categorizer = {
    .name = "categorizer",
    .reads_words = true,
    CATEGORIES_FIT,
    .plan = categorizer_plan,
    .map = words_map,
    .plan_free = categories_plan_free,
};

/* ---- Values become numbers ---- */

static int ordinal_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    if (categories_plan(plan, in, err) < 0)
        return -1;
    if (in->kind == FRAME_WORD_LISTS) {
        words_like(plan);
        return 0;
    }
    plan->like.kind = FRAME_NUMBERS;
    plan->like.words = NULL;
    plan->like.row = (raytrain_tensor){.dtype = encoded_dtype(plan->p->config)};
    return 0;
}

static int ordinal_map(const struct column_plan *plan, const struct frame_column *in,
                       uint64_t rows, struct frame_column *out, struct error *err)
{
    int32_t found[CATEGORIES_BLOCK];
    double x[CATEGORIES_BLOCK];
    size_t step;

    if (in->kind == FRAME_WORD_LISTS)
        return words_map(plan, in, rows, out, err);
    for (uint64_t done = 0; done < rows; done += step) {
        step =
            rows - done < CATEGORIES_BLOCK ? (size_t)(rows - done) : CATEGORIES_BLOCK;
        if (categories_find(plan, in, (size_t)done, step, false, found, err) < 0)
            return -1;
        for (size_t i = 0; i < step; i++)
            x[i] = found[i] < 0 ? NAN : found[i];
        reals_store(out, (size_t)done, step, x);
    }
    return 0;
}

const struct preprocessor_ops preprocessor_ordinal_encoder = {
    .name = "ordinal_encoder",
    .reads_words = true,
    CATEGORIES_FIT,
    .plan = ordinal_plan,
    .map = ordinal_map,
    .plan_free = categories_plan_free,
};

/* ---- And back, for labels ---- */

static int label_inverse_plan(struct column_plan *plan, const struct frame_column *in,
                              struct error *err)
{
    const char *column = plan->p->config->columns[plan->source];
    struct categories *s = calloc(1, sizeof *s);

    if (!s)
        return error_no_memory(err);
    plan->state = s;
    s->of = fitted_find(&plan->p->fitted, column, "categories");
    if (!s->of)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "label_encoder: nothing was learned about column \"%s\"",
                         column);
    if (reals_check("label_encoder", in, err) < 0)
        return -1;
    plan->like.kind = s->of->type == FITTED_WORDS ? FRAME_WORDS : FRAME_NUMBERS;
    plan->like.words = s->of->words;
    plan->like.row.dtype =
        s->of->type == FITTED_INTEGERS ? RAYTRAIN_INT64 : RAYTRAIN_FLOAT64;
    if (reals_width(in) == 1)
        return 0;
    return error_set(err, RAYTRAIN_ETYPE,
                     "label_encoder: column \"%s\" has rows of several numbers",
                     in->name);
}

/* A number that is not a category becomes a missing value, or 0 if categories are
 * integers. */
static int label_inverse_map(const struct column_plan *plan,
                             const struct frame_column *in, uint64_t rows,
                             struct frame_column *out, struct error *err)
{
    const struct fitted_item *of = ((const struct categories *)plan->state)->of;
    size_t n = of->type == FITTED_WORDS ? dictionary_count(of->words) : of->n;
    double x;

    (void)err;
    for (uint64_t i = 0; i < rows; i++) {
        bool known;
        size_t at;

        reals_load(in, (size_t)i, 1, &x);
        known = x >= 0 && x < (double)n && x == floor(x);
        at = known ? (size_t)x : 0;
        if (of->type == FITTED_WORDS)
            ((int32_t *)(void *)out->data)[i] = known ? (int32_t)at : -1;
        else if (of->type == FITTED_INTEGERS)
            ((int64_t *)(void *)out->data)[i] = known ? of->integers[at] : 0;
        else
            ((double *)(void *)out->data)[i] = known ? of->reals[at] : NAN;
    }
    return 0;
}

const struct preprocessor_ops preprocessor_label_encoder = {
    .name = "label_encoder",
    .of_labels = true,
    .reads_words = true,
    CATEGORIES_FIT,
    .plan = ordinal_plan,
    .map = ordinal_map,
    .plan_inverse = label_inverse_plan,
    .map_inverse = label_inverse_map,
    .plan_free = categories_plan_free,
};
