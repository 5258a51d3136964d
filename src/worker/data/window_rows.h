/*
 * window_rows.h - batches in an order with windows, for tables whose rows have any
 * number of elements (window_reader.h is for others): this rank's rows of a window are
 * read at once, block by block, and kept in memory until all have been delivered.
 */
#ifndef RAYTRAIN_DATA_WINDOW_ROWS_H
#define RAYTRAIN_DATA_WINDOW_ROWS_H

#include "data/batch.h"

struct window_rows;

/* For `rank` of `size` ranks. The table must not change until destroy. */
int window_rows_create(const struct table *t, int rank, int size,
                       struct window_rows **out, struct error *err);
void window_rows_destroy(struct window_rows *w); /* NULL is fine */
/* Discards what was read, for another order. */
void window_rows_reset(struct window_rows *w);
/* Reads this rank's rows of the batch of all ranks at `position`, without padding, into
 * f, a frame of batch_init(). Fast if the batches follow each other. */
int window_rows_read(struct window_rows *w, struct epoch_order *order,
                     uint64_t position, uint64_t batch, struct frame *f,
                     struct error *err);

#endif
