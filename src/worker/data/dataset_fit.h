/*
 * dataset_fit.h - preprocessors learn from a dataset: each rank reads an even range of
 * its rows, in the order of the files, in blocks of bounded memory.
 */
#ifndef RAYTRAIN_DATA_DATASET_FIT_H
#define RAYTRAIN_DATA_DATASET_FIT_H

#include "data/dataset.h"

struct dataset_fit {
    struct chain *chain;
    /* Called before each block, with the rows that this rank has read in all passes. -1
     * ends the fit with this error. NULL: not called. */
    int (*block)(void *arg, uint64_t rows, struct error *err);
    void *arg;
    int passes; /* the result: over the rows */
};

/*
 * COLLECTIVE over comm, with the same outcome on all ranks. Each rank has a dataset for
 * this alone, which is not split or shuffled, and has no chain. What is learned depends
 * on the number of ranks only by rounding.
 */
int dataset_fit(raytrain_dataset *ds, struct comm *comm, struct dataset_fit *fit,
                struct error *err);

#endif
