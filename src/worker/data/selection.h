/*
 * selection.h - selects the rows of a table that a dataset asks for: those whose value
 * of a column is in a range, of these the first ones, and of these the ones that the
 * steps of `rows` keep. They become the rows of the table, numbered from 0.
 */
#ifndef RAYTRAIN_DATA_SELECTION_H
#define RAYTRAIN_DATA_SELECTION_H

#include "config/data_config.h"
#include "table/table.h"

/* True if there is no filter, or the columns that are asked for have its column. */
bool selection_has_column(const struct dataset_config *cfg);
/*
 * Apply filter, limit and rows of cfg to a table that no rank has read from yet; one
 * rank of each node does it, before table_share(). A NaN passes no filter. The column
 * of the filter is left in the table only if it was asked for. A filter reads its whole
 * column, and takes 8 bytes for each row that passes it, once on each node.
 * RAYTRAIN_EINVAL if no row passes, RAYTRAIN_ETYPE if the column is not a number per
 * row.
 */
int selection_apply(const struct dataset_config *cfg, struct table *t,
                    struct error *err);

#endif
