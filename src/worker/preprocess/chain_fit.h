/* chain_fit.h - the preprocessors of a chain learn from the training set. */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_FIT_H
#define RAYTRAIN_PREPROCESS_CHAIN_FIT_H

#include "preprocess/chain.h"

/* Where a chain gets the rows of this rank from. */
struct chain_source {
    /* The columns, without rows. Their dictionaries are those of all batches. */
    const struct frame *schema;
    /* From the first row on again. */
    int (*rewind)(void *arg, struct error *err);
    /* The next rows, any number. Sets `frame` to columns as in the schema: what was
     * done to it since the last call (columns are added, removed, and get other types)
     * does not matter. 1: there are some, 0: no more, -1. */
    int (*next)(void *arg, struct frame *frame, struct error *err);
    void *arg;
};

/*
 * COLLECTIVE: let all preprocessors learn that have not. Each one sees rows as those
 * before it leave them. Preprocessors that do not depend on each other learn in the
 * same pass. *passes, the number of passes over the rows, may be NULL.
 */
int chain_fit(struct chain *chain, const struct chain_source *source, struct comm *comm,
              int *passes, struct error *err);

#endif
