/* csv_header.h - the beginning of CSV text: the delimiter, and the names of columns. */
#ifndef RAYTRAIN_TEXT_CSV_HEADER_H
#define RAYTRAIN_TEXT_CSV_HEADER_H

#include <stdbool.h>

#include "text/csv_block.h"

#define CSV_COLUMNS_MAX 65536

/* The one of , ; tab | that divides all records into the same number of fields; if
 * several do, the one with most fields. ',' if none does. */
char csv_delimiter_guess(const char *bytes, size_t n, bool last);

/*
 * The fields of the first record: text, malloc'ed, has n of them, in UTF-8, each with a
 * NUL, `length` bytes together. Fields that are not in UTF-8 are taken as Latin-1.
 * *used is the number of bytes before the next record. n is 0 if there is no record, or
 * if it is incomplete; then *cut is true.
 */
struct csv_names {
    char *text;
    size_t length, room, n;
};
int csv_names_read(char delimiter, const char *bytes, size_t n, bool last,
                   struct csv_names *names, size_t *used, bool *cut, struct error *err);
void csv_names_clear(struct csv_names *names);

/*
 * Makes columns with these names, malloc'ed; without a header, their names are their
 * numbers from 0. As in pandas, a repeated name gets a suffix, ".1", and a column
 * without a name is "Unnamed: NUMBER". A name that is made so is never one of the
 * header.
 */
int csv_names_columns(const struct csv_names *names, bool header,
                      struct csv_column **columns, struct error *err);

#endif
