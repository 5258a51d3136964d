/*
 * row_line.h - the line of text in which a row begins, for messages: converted rows do
 * not keep it. The files are read up to there, by one process.
 */
#ifndef RAYTRAIN_TEXT_ROW_LINE_H
#define RAYTRAIN_TEXT_ROW_LINE_H

#include <stdbool.h>

#include "text/source.h"

struct row_line {
    size_t source; /* which file it is */
    uint64_t line; /* from 1 on */
};

/* Row `row` (from 0 on) of all files. RAYTRAIN_ENOTFOUND: there are fewer rows. */
int csv_row_line(const struct text_source sources[], size_t n, char delimiter,
                 bool header, uint64_t row, struct row_line *out, struct error *err);
/* The same for text with a row in each line; count() says whether a line is a row. */
int line_row_line(const struct text_source sources[], size_t n,
                  uint64_t (*count)(const char *line, size_t n), uint64_t row,
                  struct row_line *out, struct error *err);

#endif
