/*
 * column_read.h - rows of one column, from the files in which they lie into memory:
 * dense, in this machine's byte order, unpacked.
 */
#ifndef RAYTRAIN_TABLE_COLUMN_READ_H
#define RAYTRAIN_TABLE_COLUMN_READ_H

#include "table/table.h"

/*
 * Rows row..row+n of the column, dense, to `out`. RAYTRAIN_ECORRUPT if a file ends
 * before them, RAYTRAIN_ESTORAGE for any other failure. It calls only pread(2), so any
 * thread may call it; for packed rows one at a time, as the table owns their cache.
 */
int column_read(const struct table *t, const struct column *c, uint64_t row, uint64_t n,
                unsigned char *out, struct error *err);

/* n bytes of a file. RAYTRAIN_ECORRUPT if it ends before them. */
int source_read(const struct source *s, void *out, size_t n, uint64_t offset,
                struct error *err);

#endif
