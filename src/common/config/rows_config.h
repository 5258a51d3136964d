/* rows_config.h - which rows of a dataset are used, by their numbers: steps, one after
 * the other, each of which keeps some of the rows that the one before it has left. */
#ifndef RAYTRAIN_CONFIG_ROWS_CONFIG_H
#define RAYTRAIN_CONFIG_ROWS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROWS_STEPS_MAX 8

struct rows_step {
    bool shuffled; /* the rows are put in the order of the seed first */
    uint64_t seed;
    uint64_t first, count; /* those that are kept; count 0: all from `first` on */
    bool is_share;         /* or else those from one share of the rows to another: */
    double from, to;       /* 0 .. 1, rounded down to a row */
};

/* rows = ( { seed = 7; first = 0; count = 100; }, { from = 0.5; to = 1; }, ... ) */
struct rows_config {
    struct rows_step steps[ROWS_STEPS_MAX];
    size_t n; /* 0: all rows, in their order */
};

struct config_ops;
extern const struct config_ops rows_config_ops; /* of struct dataset_config */

#endif
