/*
 * row_place.h - which file and line, or which row of a file, a row of a dataset is, for
 * messages. Converted text is read again up to there.
 */
#ifndef RAYTRAIN_CONVERT_ROW_PLACE_H
#define RAYTRAIN_CONVERT_ROW_PLACE_H

#include "config/data_config.h"
#include "table/table.h"

/* "d.csv:12", or "row 11 of d.h5 (the first one is 0)". Row `row` of the table, which
 * is ready and of this dataset; if its file is not found any more, its number alone. */
void row_place(const struct dataset_config *cfg, const struct table *t, uint64_t row,
               char *text, size_t size);

#endif
