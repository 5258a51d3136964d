/*
 * chain.h - preprocessors in the order in which they are applied.
 */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_H
#define RAYTRAIN_PREPROCESS_CHAIN_H

#include "preprocess/preprocessor.h"

struct chain {
    struct preprocessors_config config; /* owned */
    struct preprocessor *list;
    size_t n;
    /* A client of this process calls the functions in Python, and asks for what
     * comes after the first of them: datasets leave that to it. Else such a chain is
     * refused. */
    bool client_maps;
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

bool chain_is_fitted(const struct chain *chain);

#endif
