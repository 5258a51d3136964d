/*
 * same_rows.h - have two tables the same rows? For text that is converted once more
 * after its files have changed, in the middle of an epoch of the rows that it had.
 */
#ifndef RAYTRAIN_DATA_SAME_ROWS_H
#define RAYTRAIN_DATA_SAME_ROWS_H

#include "table/table.h"

/* Compare their columns, and share `share` of `shares` of their rows; both are
 * ready. */
int same_rows(const struct table *a, const struct table *b, int share, int shares,
              bool *same, struct error *err);

#endif
