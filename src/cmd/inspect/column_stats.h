/*
 * column_stats.h - what the rows of a column are: missing values, the least, the largest
 * and the mean, in one pass over all of them.
 *
 * Of numbers and of sparse vectors these are of their elements, of texts of their numbers
 * of bytes. Words and lists of words have missing values alone.
 */
#ifndef RAYTRAIN_INSPECT_COLUMN_STATS_H
#define RAYTRAIN_INSPECT_COLUMN_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "frame/frame.h"

struct column_stats {
    uint64_t
        elements; /* without the missing ones; of sparse vectors those that are there */
    uint64_t missing; /* NaNs, and codes of -1 */
    bool has_numbers; /* of which these are */
    long double least, largest, sum;
};

/* Zeroed: no rows. Adds those of a batch. */
void column_stats_add(struct column_stats *s, const struct frame_column *c,
                      uint64_t rows);

#endif
