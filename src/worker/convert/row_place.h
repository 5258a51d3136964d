/*
 * row_place.h - names the file and line, or the row of a file, of a row of a dataset,
 * for messages. Converted text is read again up to that row.
 */
#ifndef RAYTRAIN_CONVERT_ROW_PLACE_H
#define RAYTRAIN_CONVERT_ROW_PLACE_H

#include "config/data_config.h"
#include "table/table.h"

/* "d.csv:12", or "row 11 of d.h5 (the first one is 0)" for row `row` of the table,
 * which is ready and of this dataset; only its number if the file no longer exists. */
void row_place(const struct dataset_config *cfg, const struct table *t, uint64_t row,
               char *text, size_t size);

#endif
