/* chain_fit.h - lets the preprocessors of a chain learn from the training set. */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_FIT_H
#define RAYTRAIN_PREPROCESS_CHAIN_FIT_H

#include "preprocess/chain.h"

/* How a chain gets the rows of this rank. */
struct chain_source {
    /* The columns, without rows. All batches have the same dictionaries. */
    const struct frame *schema;
    /* Begins again with the first row. */
    int (*rewind)(void *arg, struct error *err);
    /* The next rows, any number. Sets `frame` to the columns of the schema, even if
     * columns of it were added, removed or converted since the last call. Returns 1
     * with rows, 0 when there are no more, -1 on failure. */
    int (*next)(void *arg, struct frame *frame, struct error *err);
    void *arg;
};

/*
 * COLLECTIVE: lets all preprocessors learn that have not learned yet. Each one sees the
 * rows as those before it make them. Preprocessors that do not depend on each other
 * learn in the same pass. *passes becomes the number of passes; `passes` may be NULL.
 */
int chain_fit(struct chain *chain, const struct chain_source *source, struct comm *comm,
              int *passes, struct error *err);

#endif
