/* ragged_read.h - reads rows with any number of elements: texts and sparse vectors. */
#ifndef RAYTRAIN_TABLE_RAGGED_READ_H
#define RAYTRAIN_TABLE_RAGGED_READ_H

#include "table/table.h"

/*
 * Reads these rows of the table into the column, whose memory only grows.
 * RAYTRAIN_ECORRUPT if the place of a row is not within the elements of its extent. Any
 * thread may call it, as column_read().
 */
int ragged_read(struct frame_column *out, const struct table *t, const struct column *c,
                const uint64_t rows[], uint64_t count, struct error *err);

/* The number of elements of the largest batch, if the table's rows first..first+count
 * are divided into batches of `batch` rows, at least 1. */
int ragged_largest(const struct table *t, const struct column *c, uint64_t first,
                   uint64_t count, uint64_t batch, uint64_t *largest,
                   struct error *err);

#endif
