/*
 * area_under_curve.h - areas under the curves of a binary classifier, exact over the
 * rows of all members, with ties and weights.
 */
#ifndef RAYTRAIN_GBDT_AREA_UNDER_CURVE_H
#define RAYTRAIN_GBDT_AREA_UNDER_CURVE_H

#include <stdbool.h>

#include "comm/comm.h"

/* The rows of this member. A row is positive if its label is above 0. */
struct curve_rows {
    const double *scores; /* NaN: below all others */
    const float *labels;
    const float *weights; /* NULL: all are 1 */
    size_t n;             /* may be 0 */
};

struct curve_area {
    double roc; /* under the ROC curve; 1 if there are no rows of one class */
    double pr;  /* average precision; 1 likewise */
    double positives, negatives; /* weights of all rows */
};

/* COLLECTIVE over comm (NULL: this process has all rows), with the same result on every
 * member. */
int curve_area(struct comm *comm, const struct curve_rows *rows, struct curve_area *out,
               struct error *err);

#endif
