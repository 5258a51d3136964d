/*
 * rows_load.h - reads the rows of a dataset that are this worker's (gbdt_rows.h).
 *
 * Only the training thread may call this.
 */
#ifndef RAYTRAIN_GBDT_ROWS_LOAD_H
#define RAYTRAIN_GBDT_ROWS_LOAD_H

#include "data/dataset.h"
#include "gbdt/rows_job.h"

/*
 * ds delivers all rows in their order (dataset_env: rank 0, size 1). A query begins
 * where the number in its column changes, and belongs to the part in which it begins.
 * gbdt_queries_check() checks that its number does not occur again later.
 * RAYTRAIN_EINVAL: a row has no label.
 */
int gbdt_rows_load(raytrain_dataset *ds, const struct rows_job *job,
                   struct gbdt_rows *out, struct error *err);

#endif
