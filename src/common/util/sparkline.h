/* sparkline.h - a series of numbers as one line of text. */
#ifndef RAYTRAIN_UTIL_SPARKLINE_H
#define RAYTRAIN_UTIL_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>

#define SPARKLINE_COLUMNS 256 /* at most, in one line */
#define SPARKLINE_MAX     (3 * SPARKLINE_COLUMNS + 1)

/*
 * The n values from left to right in min(n, columns) columns, as Unicode blocks in
 * UTF-8 or as ASCII. If there are more values than columns, each column is the mean of
 * adjacent values. The smallest is the lowest block, the largest the highest; values
 * that are all equal lie in the middle. Infinities are drawn at the edge. NaN, or a
 * column without numbers, is a space. Returns out.
 */
char *sparkline(const double *values, size_t n, size_t columns, bool utf8,
                char out[SPARKLINE_MAX]);

#endif
