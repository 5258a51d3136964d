/* batch.h - copies rows of a table, in the order of an epoch, into a frame. */
#ifndef RAYTRAIN_DATA_BATCH_H
#define RAYTRAIN_DATA_BATCH_H

#include "data/epoch_order.h"
#include "frame/frame.h"
#include "table/table.h"

/* The columns of the table, without memory. */
int batch_init(struct frame *f, const struct table *t, struct error *err);

/* The rows of a batch: those at positions first..first+count of the order, then
 * `padding` more, from position `again` on; the first position follows the last one
 * there. */
struct batch_rows {
    struct epoch_order *order;
    uint64_t first, count;
    uint64_t again, padding;
};

/*
 * Reads the rows of a batch into the columns, which are those of the table in its
 * order. Their memory is kept from batch to batch, and only grows. RAYTRAIN_ECORRUPT if
 * a file ends before the rows, RAYTRAIN_ENOMEM, RAYTRAIN_ESTORAGE for any other
 * failure. Any thread may call it; it calls only pread(2).
 */
int batch_read(struct frame *f, const struct table *t, const struct batch_rows *rows,
               struct error *err);
/* Reads rows from..end of a batch, for which the frame has memory, into their places,
 * except for columns whose rows have any number of elements. */
int batch_read_part(struct frame *f, const struct table *t,
                    const struct batch_rows *rows, uint64_t from, uint64_t end,
                    struct error *err);
/* RAYTRAIN_ECORRUPT if a column of words has a code without a word. */
int batch_check(const struct frame *f, const struct table *t, struct error *err);

#endif
