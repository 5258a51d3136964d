/*
 * lightgbm_sample.h - the rows from which LightGBM makes the bins of the features: the
 * sample that the library would take if one process had all rows.
 *
 * Every member gets the whole sample and finds all bins by itself, so all have the same
 * bins. By itself, the library would find those of some features on each member, from
 * the rows of that member only.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_SAMPLE_H
#define RAYTRAIN_GBDT_LIGHTGBM_SAMPLE_H

#include "comm/comm.h"
#include "lightgbm/lightgbm_library.h"
#include "gbdt/gbdt_rows.h"

/* For each column, its values that are missing or not 0: values[f][k] is that of row
 * indices[f][k] of the sample. */
struct lightgbm_sample {
    size_t columns;
    int rows;
    double **values;
    int **indices; /* several columns may share one array, `every` */
    int *n;
    int *every; /* 0, 1, 2, ... */
};

/* COLLECTIVE over comm (NULL: this process has all rows). */
int lightgbm_sample_take(struct lightgbm_sample *out, const struct lightgbm *l,
                         struct comm *comm, const struct gbdt_rows *train,
                         const char *params, struct error *err);
void lightgbm_sample_clear(struct lightgbm_sample *s);

#endif
