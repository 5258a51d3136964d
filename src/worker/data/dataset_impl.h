/* dataset_impl.h - the members of a dataset, for the files that implement it. */
#ifndef RAYTRAIN_DATA_DATASET_IMPL_H
#define RAYTRAIN_DATA_DATASET_IMPL_H

#include "data/dataset.h"
#include "data/prefetch.h"

/*
 * Two batches: `current` is the training function's; meanwhile the next batch is read
 * into the other (`ahead` is its position; a job for any other position is discarded).
 * The position is after what was delivered, so what was read ahead never counts.
 */
struct raytrain_dataset {
    char *name;
    int rank, size;
    uint64_t seed;
    enum last_batch last_batch;
    struct order_kind configured, kind; /* of the epochs that begin in this process */
    struct table table;
    struct left_out left_out;
    struct frame columns;        /* of the table; no rows */
    struct transform *transform; /* NULL: none */
    const char *lacks_label;
    int64_t client_from; /* see dataset_client_from() */
    struct batch_source *source;
    struct prefetch *prefetch;
    uint64_t batch_rows; /* 0: not set yet */
    struct dataset_state at;
    struct frame batches[2];
    int current;
    uint64_t padding; /* rows of the current batch */
    bool delivered;   /* batches[current] may be looked at */
    bool pending;     /* a job was started and has not been waited for */
    struct dataset_state ahead;
    uint64_t ahead_rows; /* the batch size that it was started with */
    struct batch_place place;
    bool has_place;
};

#endif
