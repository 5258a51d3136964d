/*
 * categories.h - what the encoders share: learning the categories of a column, all in
 * rising order or the most frequent ones, and finding the category of each value of
 * another column.
 */
#ifndef RAYTRAIN_PREPROCESS_CATEGORIES_H
#define RAYTRAIN_PREPROCESS_CATEGORIES_H

#include "preprocess/key_index.h"
#include "preprocess/preprocessor.h"

/* The number of values that are looked up at once. */
#define CATEGORIES_BLOCK 1024

/* ---- Slots for learning ---- */

#define CATEGORIES_FIT                                                                 \
    .fit_size = sizeof(struct tally), .fit_begin = categories_begin,                   \
    .fit_rows = categories_rows, .fit_end = categories_end,                            \
    .fit_free = categories_free

int categories_begin(const struct preprocessor *p, void *fit,
                     const struct frame_column *c, struct error *err);
int categories_rows(const struct preprocessor *p, void *fit,
                    const struct frame_column *c, uint64_t rows, struct error *err);
/* A missing value is an error, except in lists and for the categorizer. */
int categories_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                   struct comm *comm, bool *again, struct error *err);
void categories_free(void *fit);

/* ---- Categories of values ---- */

struct categories {
    const struct fitted_item *of; /* type, number and values */
    int32_t *by_code;      /* for each word of the column, -1: unseen; NULL: numbers */
    struct key_index keys; /* of numbers; the number of a key is the category */
    bool as_reals;
};

/* Makes plan->state for a column like `in`: words, lists of words, or numbers. */
int categories_plan(struct column_plan *plan, const struct frame_column *in,
                    struct error *err);
void categories_plan_free(struct column_plan *plan);
/*
 * Finds the categories of n <= CATEGORIES_BLOCK values from `first` on; -1 for unseen
 * ones, and for missing ones if these are allowed; otherwise RAYTRAIN_EINVAL.
 */
int categories_find(const struct column_plan *plan, const struct frame_column *c,
                    size_t first, size_t n, bool missing_ok, int32_t *to,
                    struct error *err);

#endif
