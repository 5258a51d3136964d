/*
 * near_rows.h - rows of one column that are near each other in its files, such as one
 * rank's rows of a block: what is between them is read too, rather than each of them by
 * itself.
 */
#ifndef RAYTRAIN_TABLE_NEAR_ROWS_H
#define RAYTRAIN_TABLE_NEAR_ROWS_H

#include "table/table.h"

#define NEAR_GAP_BYTES  ((uint64_t)4096) /* that are read between two */
#define NEAR_SPAN_BYTES ((uint64_t)256 * 1024)

/* The rows rows[0..n) of the table's columns, in any order, dense to `out`. Errors as
 * of column_read(). */
int near_rows_read(const struct table *t, const struct column *c, const uint64_t rows[],
                   uint64_t n, unsigned char *out, struct error *err);

#endif
