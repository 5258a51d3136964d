/*
 * gbdt_rows.h - the rows of a dataset on which this worker trains trees: all of them,
 * in memory, as the libraries take them.
 *
 * Each worker has adjacent rows of the dataset, about the same number on each, and a
 * query group is never divided between workers. A library needs all rows before its
 * first round, and their order does not matter to it, so there are no batches and no
 * shuffling.
 */
#ifndef RAYTRAIN_GBDT_GBDT_ROWS_H
#define RAYTRAIN_GBDT_GBDT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* The features: the columns of numbers, in the order of the dataset, without label,
 * weight, query and margin. Each element of a column of vectors is a feature. */
struct gbdt_features {
    size_t n;
    /* n of them: "x", or "x_0" and so on for vectors; NULL: there are more than
     * GBDT_NAMES_MAX. */
    char **names;
    bool *categorical; /* n of them: its numbers are categories; NULL: none */
};

void gbdt_features_clear(struct gbdt_features *f);

/* Owns its memory. */
struct gbdt_rows {
    char name[RAYTRAIN_NAME_MAX + 1]; /* of the dataset */
    uint64_t n, first, all;           /* rows first..first + n of `all` */
    /* The features of each row. Dense: values has n x features, row after row, and a
     * missing one is NaN. Sparse: row i has values[k] at the feature indices[k],
     * rising, for k in offsets[i]..offsets[i + 1); other features of the row are
     * missing for XGBoost and 0 for LightGBM, as in their own readers. */
    bool sparse;
    raytrain_dtype dtype; /* of values: RAYTRAIN_FLOAT32 or RAYTRAIN_FLOAT64 */
    uint64_t features;
    void *values;
    uint64_t *offsets; /* n + 1; the first one is 0 */
    uint32_t *indices;
    uint64_t n_values; /* of all rows, sparse or not */
    float *label;      /* of each row; NULL: no labels, as in predictions */
    float *weight;     /* of each row; NULL: all are 1 */
    uint32_t *groups;  /* number of rows of each query group in order; NULL: none */
    size_t n_groups;
    uint64_t *queries; /* gbdt_query_key() of each group, until gbdt_queries_check() */
    double *margin; /* n x margins, row after row; NULL: none */
    uint64_t margins;
};

/* Frees values, offsets and indices, when a library has copied them. */
void gbdt_rows_drop_values(struct gbdt_rows *s);
void gbdt_rows_clear(struct gbdt_rows *s);

#endif
