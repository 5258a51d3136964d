/*
 * gbdt_rows.h - the rows of a dataset on which this worker trains trees: all of them,
 * in memory, as the libraries take them.
 *
 * A worker has adjacent rows of the dataset, each worker about as many, and no query
 * group is cut between two workers. A library needs all rows before its first round,
 * and their order does not matter to it, so there are no batches and no shuffling.
 */
#ifndef RAYTRAIN_GBDT_GBDT_ROWS_H
#define RAYTRAIN_GBDT_GBDT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* What trees can ask about a row: the columns of numbers, in the order of the dataset,
 * without label, weight, query and margin. A column of vectors is as many features. */
struct gbdt_features {
    size_t n;
    /* n of them: "x", or "x_0" and so on for vectors; NULL: they are too many to
     * name. */
    char **names;
    bool *categorical; /* n of them: a number is a category; NULL: none is */
};

void gbdt_features_clear(struct gbdt_features *f);

/* Owns its memory. */
struct gbdt_rows {
    char name[RAYTRAIN_NAME_MAX + 1]; /* of the dataset */
    uint64_t n, first, all;           /* rows first..first + n of `all` */
    /* The features of each row. Dense: values has n x features, row after row, and a
     * missing one is NaN. Sparse: row i has values[k] at the feature indices[k],
     * rising, for k in offsets[i]..offsets[i + 1); a feature that is not there is
     * missing to XGBoost and 0 to LightGBM, as in their own readers. */
    bool sparse;
    raytrain_dtype dtype; /* of values: RAYTRAIN_FLOAT32 or RAYTRAIN_FLOAT64 */
    uint64_t features;
    void *values;
    uint64_t *offsets; /* n + 1, from 0 on */
    uint32_t *indices;
    uint64_t n_values; /* of all rows, sparse or not */
    float *label;      /* of each row; NULL: there is none, as in predictions */
    float *weight;     /* of each row; NULL: all are 1 */
    uint32_t *groups;  /* rows of each query group, one after the other; NULL: none */
    size_t n_groups;
    uint64_t
        *queries;   /* the query of each group, gbdt_query_key(); until it is checked */
    double *margin; /* n x margins, row after row; NULL: none */
    uint64_t margins;
};

/* The memory of values, offsets and indices alone: once a library has copied them. */
void gbdt_rows_drop_values(struct gbdt_rows *s);
void gbdt_rows_clear(struct gbdt_rows *s);

#endif
