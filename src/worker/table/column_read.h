/*
 * column_read.h - reads rows of one column from files into memory: dense, in this
 * machine's byte order, unpacked.
 */
#ifndef RAYTRAIN_TABLE_COLUMN_READ_H
#define RAYTRAIN_TABLE_COLUMN_READ_H

#include "table/table.h"

/*
 * Reads rows row..row+n of the column, dense, into `out`. RAYTRAIN_ECORRUPT if a file
 * ends before them, RAYTRAIN_ESTORAGE for any other failure. It calls only pread(2), so
 * any thread may call it; for packed rows only one at a time, as they share a cache.
 */
int column_read(const struct table *t, const struct column *c, uint64_t row, uint64_t n,
                unsigned char *out, struct error *err);

/* Reads n bytes of a file. RAYTRAIN_ECORRUPT if it ends before them. */
int source_read(const struct source *s, void *out, size_t n, uint64_t offset,
                struct error *err);

#endif
