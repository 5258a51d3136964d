/*
 * moments.h - number, mean and sum of squared deviations for each element of the rows
 * of a column. Missing values are ignored. A constant column has a sum of exactly 0,
 * and its value as the mean.
 */
#ifndef RAYTRAIN_PREPROCESS_MOMENTS_H
#define RAYTRAIN_PREPROCESS_MOMENTS_H

#include "comm/comm.h"
#include "frame/frame.h"

struct moment {
    double n, mean, m2;
};

struct moments {
    size_t width;
    struct moment *of; /* for each element of a row */
    /* Sums of a block of rows, whose elements go to the lanes in turn. A multiple of
     * width. */
    size_t lanes;
    double *shift, *count, *sum, *square;
};

int moments_create(struct moments *m, size_t width, struct error *err);
void moments_free(struct moments *m); /* zeroed is fine */
void moments_add(struct moments *m, const struct frame_column *c, uint64_t rows);
/* COLLECTIVE: makes them those of all ranks, with the same bits on each. */
int moments_reduce(struct moments *m, struct comm *comm, struct error *err);

/* The moment of the rows of both (Chan, Golub, LeVeque: Updating Formulae and a
 * Pairwise Algorithm for Computing Sample Variances, 1979). */
struct moment moment_merge(struct moment a, struct moment b);

#endif
