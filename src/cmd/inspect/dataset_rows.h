/*
 * dataset_rows.h - rows of a batch as JSON, and as a table.
 */
#ifndef RAYTRAIN_INSPECT_DATASET_ROWS_H
#define RAYTRAIN_INSPECT_DATASET_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "frame/frame.h"

/* A number of a column of this type: an integer if it is one, null if it is not finite;
 * for a table (as_text), infinities are the words that are printed. */
json_t *element_json(raytrain_dtype dtype, long double value, bool as_text);

/* Append the rows to `rows`, an object each, by the names of the columns: a number, nested
 * arrays of numbers, a text; {"INDEX": NUMBER} of a sparse vector; null if it is missing.
 * -1: no memory. */
int dataset_rows_add(json_t *rows, const struct frame *f, bool as_text);
void dataset_rows_print(FILE *out, const json_t *columns, const json_t *rows);

#endif
