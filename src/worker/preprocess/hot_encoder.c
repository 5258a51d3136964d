/*
 * hot_encoder.c - one_hot_encoder and multi_hot_encoder: a value, or a list, becomes a
 * vector of bytes with an element for each category: 1 for the category of the value,
 * or for those in the list, otherwise 0. Unseen and infrequent categories have no
 * element.
 */
#include <stdlib.h>
#include <string.h>

#include "preprocess/categories.h"
#include "preprocess/tally.h"

static int hot_plan(struct column_plan *plan, const struct frame_column *in,
                    struct error *err)
{
    const struct categories *s;
    size_t n;

    if (categories_plan(plan, in, err) < 0)
        return -1;
    s = plan->state;
    n = s->of->type == FITTED_WORDS ? dictionary_count(s->of->words) : s->of->n;
    plan->like.kind = FRAME_NUMBERS;
    plan->like.words = NULL;
    plan->like.row =
        (raytrain_tensor){.dtype = RAYTRAIN_UINT8, .ndim = 1, .shape = {n}};
    return 0;
}

static int one_hot_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    if (in->kind == FRAME_WORD_LISTS)
        return error_set(err, RAYTRAIN_ETYPE,
                         "one_hot_encoder: column \"%s\" consists of lists; use "
                         "multi_hot_encoder",
                         in->name);
    return hot_plan(plan, in, err);
}

static int one_hot_map(const struct column_plan *plan, const struct frame_column *in,
                       uint64_t rows, struct frame_column *out, struct error *err)
{
    size_t width = (size_t)out->row.shape[0], step;
    int32_t found[CATEGORIES_BLOCK];

    memset(out->data, 0, (size_t)rows * width);
    for (uint64_t done = 0; done < rows; done += step) {
        unsigned char *to = out->data + done * width;

        step =
            rows - done < CATEGORIES_BLOCK ? (size_t)(rows - done) : CATEGORIES_BLOCK;
        if (categories_find(plan, in, (size_t)done, step, false, found, err) < 0)
            return -1;
        for (size_t i = 0; i < step; i++, to += width)
            if (found[i] >= 0)
                to[found[i]] = 1;
    }
    return 0;
}

/* A column without lists is taken as lists of one value. */
static int multi_hot_map(const struct column_plan *plan, const struct frame_column *in,
                         uint64_t rows, struct frame_column *out, struct error *err)
{
    size_t width = (size_t)out->row.shape[0], step;
    int32_t found[CATEGORIES_BLOCK];

    if (in->kind != FRAME_WORD_LISTS)
        return one_hot_map(plan, in, rows, out, err);
    memset(out->data, 0, (size_t)rows * width);
    for (uint64_t row = 0; row < rows; row++) {
        unsigned char *to = out->data + row * width;

        for (uint64_t at = in->offsets[row]; at < in->offsets[row + 1]; at += step) {
            uint64_t left = in->offsets[row + 1] - at;

            step = left < CATEGORIES_BLOCK ? (size_t)left : CATEGORIES_BLOCK;
            if (categories_find(plan, in, (size_t)at, step, true, found, err) < 0)
                return -1;
            for (size_t i = 0; i < step; i++)
                if (found[i] >= 0)
                    to[found[i]] = 1;
        }
    }
    return 0;
}

const struct preprocessor_ops preprocessor_one_hot_encoder = {
    .name = "one_hot_encoder",
    .reads_words = true,
    CATEGORIES_FIT,
    .plan = one_hot_plan,
    .map = one_hot_map,
    .plan_free = categories_plan_free,
};

const struct preprocessor_ops preprocessor_multi_hot_encoder = {
    .name = "multi_hot_encoder",
    CATEGORIES_FIT,
    .plan = hot_plan,
    .map = multi_hot_map,
    .plan_free = categories_plan_free,
};
