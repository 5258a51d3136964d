/*
 * window_reader.h - reads an epoch in windows (window_order.h): each block of adjacent
 * rows at once, in the order of the disk, and each row straight to its place in the
 * batch that it belongs to.
 *
 * While the batches of one window are delivered, the next window is read, a few blocks
 * with each batch; after the last window of an epoch, the first one of the next epoch.
 * So a rank has its own rows of two windows in memory, 12 bytes for each row of one
 * window, and the cached pages of files that are viewed (file_view.h).
 * Ranks begin at different blocks of a window: those that unpack chunks for each other
 * (packing.h) share the work.
 */
#ifndef RAYTRAIN_DATA_WINDOW_READER_H
#define RAYTRAIN_DATA_WINDOW_READER_H

#include "data/epoch_order.h"
#include "frame/frame.h"
#include "table/table.h"

struct window_reader;

/* A batch of all ranks: where in the epoch it begins, and its rows on each rank. */
struct window_place {
    uint64_t position, batch;
};

/* The orders of the epoch that is being read, and of the next; NULL: it is not known,
 * or has no windows. */
struct epoch_orders {
    struct epoch_order *now, *next;
};

/* False if a column's rows have any number of elements. */
bool window_reader_can(const struct table *t);
/* `lend`: large batches are not copied, but their frames exchanged. */
int window_reader_create(const struct table *t, int rank, int size, bool lend,
                         struct window_reader **out, struct error *err);
/* Before another order than the next one. */
void window_reader_reset(struct window_reader *r);
/* Begins the epoch that was `next` in all calls since the last turn or reset. Rows of
 * it that were read are kept. */
void window_reader_turn(struct window_reader *r);
/*
 * Reads this rank's rows of a batch into f, a frame of batch_init(), with memory for
 * `room` rows, at most those of the table; does not set f->rows. Batches are expected
 * one after the other; for any other batch its window is read again. After a failure,
 * the next call starts again.
 */
int window_reader_read(struct window_reader *r, const struct epoch_orders *orders,
                       const struct window_place *at, uint64_t room, struct frame *f,
                       struct error *err);
void window_reader_destroy(struct window_reader *r); /* NULL is fine */

#endif
