/* ragged_read.h - rows of a column that have elements of any number: texts, and sparse
 * vectors. */
#ifndef RAYTRAIN_TABLE_RAGGED_READ_H
#define RAYTRAIN_TABLE_RAGGED_READ_H

#include "table/table.h"

/*
 * Make the column's rows these of the table; its memory only grows. RAYTRAIN_ECORRUPT
 * if a row's place is not within the elements of its extent. Any thread may call it, as
 * column_read().
 */
int ragged_read(struct frame_column *out, const struct table *t, const struct column *c,
                const uint64_t rows[], uint64_t count, struct error *err);

/* The table's rows first..first+count are divided into batches of `batch` rows, at
 * least 1: how many elements the largest one has. */
int ragged_largest(const struct table *t, const struct column *c, uint64_t first,
                   uint64_t count, uint64_t batch, uint64_t *largest,
                   struct error *err);

#endif
