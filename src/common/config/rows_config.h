/*
 * rows_config.h - select rows of a dataset by their numbers, in steps: each step keeps
 * some of the rows that the step before it has kept.
 */
#ifndef RAYTRAIN_CONFIG_ROWS_CONFIG_H
#define RAYTRAIN_CONFIG_ROWS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config_node.h"

#define ROWS_STEPS_MAX 8

struct rows_step {
    bool shuffled; /* first put the rows in the order given by the seed */
    uint64_t seed;
    /* The rows to keep; count 0: all from `first` on. */
    uint64_t first, count;
    /* Or else keep a share of the rows, between two fractions: */
    bool is_share;
    double from, to;       /* 0 .. 1, rounded down to a row */
};

/* rows = ( { seed = 7; first = 0; count = 100; }, { from = 0.5; to = 1; }, ... ) */
struct rows_config {
    struct rows_step steps[ROWS_STEPS_MAX];
    size_t n; /* 0: all rows, in their order */
};

/* Replace the steps by those of the node. */
int rows_config_set(struct rows_config *rows, const struct config_node *node,
                    const struct config_where *where);
/* Nothing if there are no steps. */
void rows_config_render(const struct rows_config *rows, const char *name, FILE *out,
                        int depth);

#endif
