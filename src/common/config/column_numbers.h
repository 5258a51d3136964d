/* column_numbers.h - parameters of preprocessors that are numbers for all columns, or
 * for each one: 4, [0, 1, 4], { x = 4; y = 3; }, ( { column = "x y"; value = 4; } ). */
#ifndef RAYTRAIN_CONFIG_COLUMN_NUMBERS_H
#define RAYTRAIN_CONFIG_COLUMN_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"

/* Numbers for a column, or for all columns that have none of their own. */
struct column_numbers {
    char *column; /* NULL: all others */
    double *values;
    size_t n;
    bool list; /* given as a list */
};

struct numbers_by_column {
    struct column_numbers *of;
    size_t n;
};

int numbers_by_column_set(struct numbers_by_column *numbers,
                          const struct config_node *node, const char *doc,
                          const struct config_where *where);
/* Nothing if there are none. */
void numbers_by_column_render(const struct numbers_by_column *numbers, const char *name,
                              FILE *out, int depth);
void numbers_by_column_clear(struct numbers_by_column *numbers);

/* The numbers for this column: its own, or those for all others; NULL: none. */
const struct column_numbers *
column_numbers_find(const struct numbers_by_column *numbers, const char *column);

#endif
