/*
 * same_rows.h - checks that two tables have the same rows, for text that is converted
 * again because its files have changed in the middle of an epoch.
 */
#ifndef RAYTRAIN_DATA_SAME_ROWS_H
#define RAYTRAIN_DATA_SAME_ROWS_H

#include "table/table.h"

/* Compare their columns, and share `share` of `shares` of their rows; both are
 * ready. */
int same_rows(const struct table *a, const struct table *b, int share, int shares,
              bool *same, struct error *err);

#endif
