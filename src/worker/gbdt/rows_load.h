/*
 * rows_load.h - read the rows of a dataset that are this worker's (gbdt_rows.h).
 *
 * Threads: the training thread.
 */
#ifndef RAYTRAIN_GBDT_ROWS_LOAD_H
#define RAYTRAIN_GBDT_ROWS_LOAD_H

#include "data/dataset.h"
#include "gbdt/columns.h"

struct rows_job {
    const struct gbdt_columns *columns;
    const struct dataset_config *config; /* of the dataset: where its rows lie */
    bool wide;      /* the library looks at float64, if a column has it */
    int rank, size; /* part `rank` of `size`; the first parts have the most rows */
    /* Before each block: an error ends the reading. */
    int (*block)(void *arg, struct error *err);
    void *arg;
};

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
