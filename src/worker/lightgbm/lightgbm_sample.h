/*
 * lightgbm_sample.h - the rows from which LightGBM makes the bins of the features: the
 * sample that the library would take of all rows if one process had them.
 *
 * Every member gets the whole sample and finds all bins by itself, so they are the same
 * everywhere. In the library's own way, each member would find those of some features,
 * from its own rows alone.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_SAMPLE_H
#define RAYTRAIN_GBDT_LIGHTGBM_SAMPLE_H

#include "comm/comm.h"
#include "lightgbm/lightgbm_library.h"
#include "gbdt/gbdt_rows.h"

/* Column by column, what is not 0 (or is missing): values[f][k] is that of row
 * indices[f][k] of the sample. */
struct lightgbm_sample {
    size_t columns;
    int rows;
    double **values;
    int **indices; /* several columns may share one array, `every` */
    int *n;
    int *every; /* 0, 1, 2... */
};

/* COLLECTIVE over comm (NULL: this process has all rows). */
int lightgbm_sample_take(struct lightgbm_sample *out, const struct lightgbm *l,
                         struct comm *comm, const struct gbdt_rows *train,
                         const char *params, struct error *err);
void lightgbm_sample_clear(struct lightgbm_sample *s);

#endif
