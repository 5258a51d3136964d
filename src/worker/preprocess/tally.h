/*
 * tally.h - counts how often each value of a column occurs: words, integers or other
 * numbers, one per row. Missing values are counted separately.
 */
#ifndef RAYTRAIN_PREPROCESS_TALLY_H
#define RAYTRAIN_PREPROCESS_TALLY_H

#include "comm/comm.h"
#include "frame/frame.h"
#include "preprocess/fitted.h"
#include "preprocess/key_index.h"

struct tally {
    enum fitted_type type;
    const struct dictionary *of; /* of the column, for words */
    struct key_index keys;       /* numbers: integers, or the bits of doubles */
    int64_t *counts;             /* by the code of the word or the number of the key */
    size_t room;
    int64_t missing;

    /* After tally_reduce(): the values of all ranks, in rising order. */
    struct dictionary *words;
    int64_t *integers;
    double *reals;
    size_t n;
};

/* RAYTRAIN_ETYPE, with a message that begins with "WHAT: ", for columns of other
 * kinds. */
int tally_create(struct tally *t, const char *what, const struct frame_column *c,
                 struct error *err);
void tally_free(struct tally *t); /* zeroed is fine */
int tally_add(struct tally *t, const struct frame_column *c, uint64_t rows,
              struct error *err);
/* COLLECTIVE: values, counts and missing become those of all ranks. Do not add rows
 * afterwards. */
int tally_reduce(struct tally *t, struct comm *comm, struct error *err);

/*
 * Saves the values as items "categories" and "counts" of the column. If `max` is not 0,
 * it saves the `max` most frequent ones, in the order of falling counts; equal counts
 * in the order of rising values.
 */
int tally_save(const struct tally *t, size_t max, const char *column,
               struct fitted *fitted, struct error *err);

#endif
