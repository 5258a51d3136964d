/*
 * filter_config.h - select rows of a dataset: those whose value in one column lies in a
 * range.
 */
#ifndef RAYTRAIN_CONFIG_FILTER_CONFIG_H
#define RAYTRAIN_CONFIG_FILTER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* filter = { column = "x"; min = A; max = B; } */
struct filter_config {
    char *column; /* NULL: all rows */
    bool has_min, has_max;
    double min, max; /* both belong to the range */
    /* Bounds that were given as integers. `min` and `max` are the nearest doubles. */
    bool min_is_integer, max_is_integer;
    int64_t min_integer, max_integer;
};

struct config_table;
extern const struct config_table filter_config_table;

/* A filter has a column and at least one bound, and the lower one is not above the
 * upper one. RAYTRAIN_EINVAL. */
int filter_config_validate(const struct filter_config *filter, struct error *err);

#endif
