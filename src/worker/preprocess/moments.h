/*
 * moments.h - number, mean and sum of squared deviations of each element of the rows of
 * a column; missing values are left out. A column whose values are all the same has a
 * sum of exactly 0, and its value as the mean.
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
    struct moment *of; /* each element of a row */
    /* For a block of rows, whose elements go to the lanes in turn; a multiple of
     * width. */
    size_t lanes;
    double *shift, *count, *sum, *square;
};

int moments_create(struct moments *m, size_t width, struct error *err);
void moments_free(struct moments *m); /* zeroed is fine */
void moments_add(struct moments *m, const struct frame_column *c, uint64_t rows);
/* COLLECTIVE: those of all ranks, with the same bits on each. */
int moments_reduce(struct moments *m, struct comm *comm, struct error *err);

/* As if the rows of both had been seen (Chan, Golub, LeVeque: Updating Formulae and a
 * Pairwise Algorithm for Computing Sample Variances, 1979). */
struct moment moment_merge(struct moment a, struct moment b);

#endif
