/* axis.h - where an axis has its labels, and their text. */
#ifndef RAYTRAIN_PAGE_AXIS_H
#define RAYTRAIN_PAGE_AXIS_H

#include <stddef.h>

#define AXIS_TICKS_MAX 16
#define AXIS_LABEL_MAX 32

struct axis {
    double low, high; /* its ends */
    size_t n;
    double at[AXIS_TICKS_MAX]; /* within its ends */
    char labels[AXIS_TICKS_MAX][AXIS_LABEL_MAX];
};

/* An axis for these values, with about `wanted` labels at round numbers; with `margin`,
 * it extends a little beyond the values on both sides. */
void axis_of_numbers(double low, double high, int wanted, int margin, struct axis *a);
/* The same for iterations: integers, "10k", "1.5M". */
void axis_of_iterations(double low, double high, int wanted, struct axis *a);
/* The position of a value on the axis: 0 to 1. */
double axis_place(const struct axis *a, double value);
/* The number of characters of the longest label. */
size_t axis_width(const struct axis *a);

#endif
