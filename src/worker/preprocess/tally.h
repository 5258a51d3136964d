/*
 * tally.h - how often each value of a column occurs: words, integers or other numbers.
 * Missing values are counted apart. Numbers must be one in a row.
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
    int64_t *counts;             /* by code or number of the key */
    size_t room;
    int64_t missing;

    /* After tally_reduce(): the values of all ranks, by rising value. */
    struct dictionary *words;
    int64_t *integers;
    double *reals;
    size_t n;
};

/* RAYTRAIN_ETYPE, "WHAT: ...", for columns of other kinds. */
int tally_create(struct tally *t, const char *what, const struct frame_column *c,
                 struct error *err);
void tally_free(struct tally *t); /* zeroed is fine */
int tally_add(struct tally *t, const struct frame_column *c, uint64_t rows,
              struct error *err);
/* COLLECTIVE: values, counts and missing become those of all ranks. Nothing is added
 * afterwards. */
int tally_reduce(struct tally *t, struct comm *comm, struct error *err);

/*
 * Keep what was found as items "categories" and "counts" of the column. If `max` is not
 * 0, these are the `max` most frequent ones, by falling count and then rising value.
 */
int tally_save(const struct tally *t, size_t max, const char *column,
               struct fitted *fitted, struct error *err);

#endif
