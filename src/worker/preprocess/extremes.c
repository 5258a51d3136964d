/*
 * extremes.c - minimum and maximum of each element. Several rows are compared at once,
 * so that compilers vectorize the loop.
 */
#include "preprocess/extremes.h"

#include <math.h>
#include <stdlib.h>

#include "preprocess/reals.h"

#define LANES_MIN 64

int extremes_create(struct extremes *e, size_t width, struct error *err)
{
    *e = (struct extremes){.width = width};
    e->lanes = width * ((LANES_MIN + width - 1) / (width ? width : 1));
    e->min = malloc((2 * e->lanes + 1) * sizeof *e->min);
    if (!e->min)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for statistics");
    e->max = e->min + e->lanes;
    for (size_t i = 0; i < e->lanes; i++) {
        e->min[i] = INFINITY;
        e->max[i] = -INFINITY;
    }
    return 0;
}

void extremes_free(struct extremes *e)
{
    free(e->min);
    *e = (struct extremes){.width = 0};
}

/* Comparisons with NaN are false. */
static void extremes_lanes_add(size_t n, const double *restrict x, double *restrict min,
                               double *restrict max)
{
    for (size_t i = 0; i < n; i++) {
        min[i] = x[i] < min[i] ? x[i] : min[i];
        max[i] = x[i] > max[i] ? x[i] : max[i];
    }
}

void extremes_add(struct extremes *e, const struct frame_column *c, uint64_t rows)
{
    size_t n = (size_t)rows * e->width;
    double x[REALS_BLOCK];

    for (size_t done = 0, step; done < n; done += step) {
        size_t lane = done % e->lanes;

        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        if (step > e->lanes - lane)
            step = e->lanes - lane;
        reals_load(c, done, step, x);
        extremes_lanes_add(step, x, e->min + lane, e->max + lane);
    }
}

int extremes_reduce(struct extremes *e, struct comm *comm, struct error *err)
{
    for (size_t i = e->width; i < e->lanes; i++) {
        size_t j = i % e->width;

        e->min[j] = fmin(e->min[j], e->min[i]);
        e->max[j] = fmax(e->max[j], e->max[i]);
    }
    if (e->width == 0)
        return 0;
    if (comm->ops->allreduce(comm, e->min, e->width, COMM_FLOAT64, COMM_MIN, err) < 0)
        return -1;
    return comm->ops->allreduce(comm, e->max, e->width, COMM_FLOAT64, COMM_MAX, err);
}
