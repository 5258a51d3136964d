/*
 * rows_load.h - read the rows of a dataset that are this worker's (gbdt_rows.h).
 *
 * Threads: the training thread.
 */
#ifndef RAYTRAIN_GBDT_ROWS_LOAD_H
#define RAYTRAIN_GBDT_ROWS_LOAD_H

#include "data/dataset.h"
#include "gbdt/rows_job.h"

/*
 * ds delivers all rows in their order (dataset_env: rank 0, size 1). Queries begin
 * where the number in their column changes, and belong to the part in which they begin.
 * That no
 * query comes back later is checked by gbdt_queries_check(). RAYTRAIN_EINVAL: a row has
 * no label.
 */
int gbdt_rows_load(raytrain_dataset *ds, const struct rows_job *job,
                   struct gbdt_rows *out, struct error *err);

#endif
