/* sparkline.h - the course of numbers as one line of text, a column each. */
#ifndef RAYTRAIN_UTIL_SPARKLINE_H
#define RAYTRAIN_UTIL_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>

#define SPARKLINE_COLUMNS 256 /* of one line, at most */
#define SPARKLINE_MAX     (3 * SPARKLINE_COLUMNS + 1)

/*
 * The n values from left to right in min(n, columns) columns, as blocks of Unicode in
 * UTF-8 or as ASCII. With more values than columns, each column is the mean of adjacent
 * values. The least is the lowest, the greatest the highest; values that are all equal
 * lie in the middle. Infinities are drawn at the edge; NaN, and a column without
 * numbers, is a space. Returns out.
 */
char *sparkline(const double *values, size_t n, size_t columns, bool utf8,
                char out[SPARKLINE_MAX]);

#endif
