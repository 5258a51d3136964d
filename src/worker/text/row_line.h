/*
 * row_line.h - finds the line of text in which a row begins, for messages: converted
 * rows do not have it. One process reads the files up to that line.
 */
#ifndef RAYTRAIN_TEXT_ROW_LINE_H
#define RAYTRAIN_TEXT_ROW_LINE_H

#include <stdbool.h>

#include "text/source.h"

struct row_line {
    size_t source; /* the number of the file */
    uint64_t line; /* the first one is 1 */
};

/* For row `row` of all files; the first one is 0. RAYTRAIN_ENOTFOUND: there are fewer
 * rows. */
int csv_row_line(const struct text_source sources[], size_t n, char delimiter,
                 bool header, uint64_t row, struct row_line *out, struct error *err);
/* The same for text with a row in each line; count() tells whether a line is a row. */
int line_row_line(const struct text_source sources[], size_t n,
                  uint64_t (*count)(const char *line, size_t n), uint64_t row,
                  struct row_line *out, struct error *err);

#endif
