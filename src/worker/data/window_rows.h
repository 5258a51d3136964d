/*
 * window_rows.h - batches in an order with windows, of tables that have rows of any
 * number of elements (window_reader.h is for the others): this rank's rows of a window
 * are read at once, block by block, and kept in memory until all have been handed out.
 */
#ifndef RAYTRAIN_DATA_WINDOW_ROWS_H
#define RAYTRAIN_DATA_WINDOW_ROWS_H

#include "data/batch.h"

struct window_rows;

/* Of `rank` of `size` ranks. The table must not change until destroy. */
int window_rows_create(const struct table *t, int rank, int size,
                       struct window_rows **out, struct error *err);
void window_rows_destroy(struct window_rows *w); /* NULL is fine */
/* Forget what was read: the order becomes another one. */
void window_rows_reset(struct window_rows *w);
/* This rank's rows of the batch of all ranks at `position`, without padding, to f: a
 * frame of batch_init(). Fast if the batches follow each other. */
int window_rows_read(struct window_rows *w, struct epoch_order *order,
                     uint64_t position, uint64_t batch, struct frame *f,
                     struct error *err);

#endif
