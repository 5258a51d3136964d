/*
 * batch_source.h - a rank's batches of an epoch, one after the other: which rows they
 * have (row_order.h, epoch_order.h), read in windows if the order has some
 * (window_reader.h), and row by row otherwise. One thread at a time.
 */
#ifndef RAYTRAIN_DATA_BATCH_SOURCE_H
#define RAYTRAIN_DATA_BATCH_SOURCE_H

#include "data/batch.h"

struct batch_source;

/* The batch of all ranks at `position` of an epoch, with `batch` rows a rank. */
struct batch_job {
    uint64_t epoch, position, batch;
    struct order_kind kind, next_kind; /* of this epoch, and of the next one */
    bool pad; /* fill it up to `batch` rows, with rows from the epoch's start */
};

/* For `rank` of `size` ranks, with this seed. The table must not change until destroy.
 * `lend`: memory may be moved into the frames of batches; otherwise they keep their
 * own. */
int batch_source_create(const struct table *t, uint64_t seed, int rank, int size,
                        bool lend, struct batch_source **out, struct error *err);
/* Reads this rank's rows into f, a frame of batch_init(). */
int batch_source_read(struct batch_source *s, const struct batch_job *job,
                      struct frame *f, struct error *err);
void batch_source_destroy(struct batch_source *s); /* NULL is fine */

/* The number of rows of padding in this rank's batch. */
uint64_t batch_padding(const struct batch_job *job, uint64_t rows, int rank, int size);

#endif
