/* chain.h - a list of preprocessors in the order in which they are applied. */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_H
#define RAYTRAIN_PREPROCESS_CHAIN_H

#include "preprocess/preprocessor.h"

struct chain {
    struct preprocessors_config config; /* owned */
    struct preprocessor *list;
    size_t n;
    /* A client of this process calls the functions in Python. Datasets apply only what
     * comes before the first of them; the client requests the rest. Without such a
     * client, a chain with functions in Python is refused. */
    bool client_maps;
};

/* Takes the configuration, which becomes empty. Release it with chain_clear(), also
 * after a failure. */
int chain_create(struct chain *chain, struct preprocessors_config *config,
                 struct error *err);
void chain_clear(struct chain *chain); /* zeroed is fine */
/* Appends the preprocessors of `more`, which becomes empty. On failure both chains are
 * unchanged. */
int chain_append(struct chain *chain, struct chain *more, struct error *err);
/* The first function in Python among the preprocessors from `from` on; n if there is
 * none. */
size_t chain_python_at(const struct chain *chain, size_t from);

bool chain_is_fitted(const struct chain *chain);

#endif
