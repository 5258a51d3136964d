/*
 * column_stats.h - what the rows of a column are: the number of missing values, the
 * minimum, the maximum and the mean, in one pass over all rows.
 *
 * For numbers and sparse vectors these are of their elements, for texts of their
 * numbers of bytes. Words and lists of words have a number of missing values only.
 */
#ifndef RAYTRAIN_INSPECT_COLUMN_STATS_H
#define RAYTRAIN_INSPECT_COLUMN_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "frame/frame.h"

struct column_stats {
    /* Without missing ones; for sparse vectors, the elements that are stored. */
    uint64_t elements;
    uint64_t missing; /* NaNs, and codes of -1 */
    bool has_numbers; /* of these */
    long double least, largest, sum;
};

/* Zeroed: no rows. Adds those of a batch. */
void column_stats_add(struct column_stats *s, const struct frame_column *c,
                      uint64_t rows);

#endif
