/* dataset_env.h - the ranks, callbacks and preprocessors with which a dataset is
 * opened. */
#ifndef RAYTRAIN_DATA_DATASET_ENV_H
#define RAYTRAIN_DATA_DATASET_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "preprocess/chain.h"
#include "text/source.h"

struct dataset_env {
    int rank, size; /* of the split; 0, 1 if the dataset is not split */
    /* The ranks of this node: compressed files are expanded once on each node, into
     * memory that they share (memfd). NULL: this process alone. */
    struct comm *node;
    /* All ranks of the run, which convert text together; NULL: as node. */
    struct comm *all;
    /* The directory of converted rows; NULL: only this process has them, in files
     * without a name. */
    const char *directory;
    /* Asked before each block of text that is converted: an error on one rank ends the
     * conversion on all, and leaves nothing. NULL: none. */
    const struct text_watch *watch;
    /* Takes warnings for the user, without an end of line, on rank 0 of `all`. NULL:
     * they are dropped. */
    void (*warn)(void *arg, const char *text);
    void *warn_arg;
    /* The run is in the middle of an epoch of these rows: text that has changed since
     * is refused unless it has the same rows. */
    bool goes_on;
    /* This process has opened the dataset before: existing rows need not be
     * verified. */
    bool again;
    /* A token of this start of raytrain-run, whose attempts verify them once. NULL:
     * each does. */
    const char *invocation;
    uint64_t seed;
    /* Fitted preprocessors, which stay unchanged until the dataset is closed: what it
     * delivers are their results. NULL: none. A label_encoder does nothing in a dataset
     * without the column of the labels (dataset_lacks_label()). */
    const struct chain *chain;
};

#endif
