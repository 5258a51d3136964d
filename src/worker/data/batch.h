/* batch.h - copies rows of a table, in the order of an epoch, into a batch's memory. */
#ifndef RAYTRAIN_DATA_BATCH_H
#define RAYTRAIN_DATA_BATCH_H

#include "data/row_order.h"
#include "data/table.h"

/* The memory of one batch: dense rows of each column. Reused; it only grows. */
struct batch {
    unsigned char **columns; /* as many as the table has, aligned to a cache line */
    size_t n_columns;
    uint64_t capacity; /* rows */
    uint64_t rows;     /* that it contains now */
};

int batch_init(struct batch *b, const struct table *t, struct error *err);
/* Make room for that many rows; if it grows, its contents are lost. */
int batch_reserve(struct batch *b, const struct table *t, uint64_t rows,
                  struct error *err);
void batch_clear(struct batch *b);

/*
 * Fill it with the rows order[first..first+count). RAYTRAIN_ECORRUPT if a file ends
 * before them, RAYTRAIN_ESTORAGE for any other failure. Calls only pread(2).
 */
int batch_read(struct batch *b, const struct table *t, const struct shuffle *order,
               uint64_t first, uint64_t count, struct error *err);

#endif
