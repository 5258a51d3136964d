/* csv_output.h - tables as CSV (RFC 4180), but with lines that end in a newline
 * without a carriage return. */
#ifndef RAYTRAIN_INSPECT_CSV_OUTPUT_H
#define RAYTRAIN_INSPECT_CSV_OUTPUT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* The fields of a row: csv_next() before each of them except the first, csv_end() after
 * the last. */
void csv_next(FILE *out);
void csv_end(FILE *out);

/* Text, in quotes if necessary. */
void csv_text(FILE *out, const char *text);
/* A number in a form that reads back exactly; NaN is empty. */
void csv_number(FILE *out, double value);
/* A value of JSON: null and NULL are empty, arrays and objects are their text. */
void csv_json(FILE *out, const json_t *value);

#endif
