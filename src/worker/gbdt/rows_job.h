/* rows_job.h - which rows of a dataset this worker reads, for a library of trees. */
#ifndef RAYTRAIN_GBDT_ROWS_JOB_H
#define RAYTRAIN_GBDT_ROWS_JOB_H

#include <stdbool.h>

#include "config/data_config.h"
#include "gbdt/columns.h"

struct rows_job {
    const struct gbdt_columns *columns;
    const struct dataset_config *config; /* of the dataset: where its rows lie */
    bool wide;      /* the library takes float64 if a column has it */
    int rank, size; /* part `rank` of `size`; the first parts have the most rows */
    /* Called before each block; an error ends the reading. */
    int (*block)(void *arg, struct error *err);
    void *arg;
};

#endif
