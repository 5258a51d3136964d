/*
 * near_rows.h - reads rows of one column that are near each other in its files, such as
 * one rank's rows of a block: together with the rows between them, instead of one by
 * one.
 */
#ifndef RAYTRAIN_TABLE_NEAR_ROWS_H
#define RAYTRAIN_TABLE_NEAR_ROWS_H

#include "table/table.h"

#define NEAR_GAP_BYTES  ((uint64_t)4096) /* the most that is read between two rows */
#define NEAR_SPAN_BYTES ((uint64_t)256 * 1024)

/* Reads the rows rows[0..n) of the table's columns, in any order, dense into `out`.
 * Errors are those of column_read(). */
int near_rows_read(const struct table *t, const struct column *c, const uint64_t rows[],
                   uint64_t n, unsigned char *out, struct error *err);

#endif
