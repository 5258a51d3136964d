/*
 * chain.h - preprocessors in the order in which they are applied, and how they learn
 * from the training set.
 */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_H
#define RAYTRAIN_PREPROCESS_CHAIN_H

#include "preprocess/preprocessor.h"

struct chain {
    struct preprocessors_config config; /* owned */
    struct preprocessor *list;
    size_t n;
    /* A client of this process calls the functions in Python, and asks for what comes after
     * the first of them: datasets leave that to it. Else such a chain is refused. */
    bool client_maps;
};

/* Where a chain gets the rows of this rank from. */
struct chain_source {
    /* The columns, without rows. Their dictionaries are those of all batches. */
    const struct frame *schema;
    /* From the first row on again. */
    int (*rewind)(void *arg, struct error *err);
    /* The next rows, any number. Sets `frame` to columns as in the schema: what was done
     * to it since the last call (columns are added, removed, and get other types) does
     * not matter. 1: there are some, 0: no more, -1. */
    int (*next)(void *arg, struct frame *frame, struct error *err);
    void *arg;
};

/* Takes the configuration, which becomes empty. Release it with chain_clear(), also
 * after a failure. */
int chain_create(struct chain *chain, struct preprocessors_config *config,
                 struct error *err);
void chain_clear(struct chain *chain); /* zeroed is fine */
/* Move the preprocessors of `more`, which becomes empty, behind those of the chain. On
 * failure both are unchanged. */
int chain_append(struct chain *chain, struct chain *more, struct error *err);
/* The first preprocessor from this one on that is a function in Python; n: none is. */
size_t chain_python_at(const struct chain *chain, size_t from);

/*
 * COLLECTIVE: let all preprocessors learn that have not. Each one sees rows as those
 * before it leave them. Preprocessors that do not depend on each other learn in the same
 * pass. *passes, the number of passes over the rows, may be NULL.
 */
int chain_fit(struct chain *chain, const struct chain_source *source, struct comm *comm,
              int *passes, struct error *err);
bool chain_is_fitted(const struct chain *chain);

#endif
