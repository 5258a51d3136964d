/*
 * quantiles.h - exact quantiles of each element of the rows of a column, in several
 * passes over the rows. The memory does not depend on the number of rows. Missing
 * values are ignored.
 */
#ifndef RAYTRAIN_PREPROCESS_QUANTILES_H
#define RAYTRAIN_PREPROCESS_QUANTILES_H

#include "comm/comm.h"
#include "frame/frame.h"

#define QUANTILES_MAX 3

struct quantiles {
    size_t width, n; /* elements of a row; quantiles of each element */
    double at[QUANTILES_MAX];
    int pass;
    struct search *searches; /* two for each quantile of each element */
    int64_t *counts;         /* histograms */
    size_t n_counts;
};

int quantiles_create(struct quantiles *q, size_t width, size_t n, const double *at,
                     struct error *err);
void quantiles_free(struct quantiles *q); /* zeroed is fine */
void quantiles_add(struct quantiles *q, const struct frame_column *c, uint64_t rows);
/* COLLECTIVE: ends a pass; *again: another pass is needed. */
int quantiles_reduce(struct quantiles *q, struct comm *comm, bool *again,
                     struct error *err);
/* Quantile k of an element, interpolated as by numpy.percentile(); NaN if it has no
 * values. */
double quantiles_get(const struct quantiles *q, size_t element, size_t k);

#endif
