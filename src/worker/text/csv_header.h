/*
 * csv_header.h - the beginning of CSV text: the delimiter, the names of the columns.
 */
#ifndef RAYTRAIN_TEXT_CSV_HEADER_H
#define RAYTRAIN_TEXT_CSV_HEADER_H

#include <stdbool.h>

#include "text/csv_block.h"

#define CSV_COLUMNS_MAX 65536

/* The one of , ; tab | that makes records of equal length of the text, the longer the
 * better. ',' if there is none. */
char csv_delimiter_guess(const char *bytes, size_t n, bool last);

/*
 * The fields of the first record: *text, malloc'ed, has *n of them, in UTF-8, each with
 * a NUL, *length bytes in all; those that are not in UTF-8 are taken for Latin-1. *used
 * bytes are before the next record. *n is 0 if there is no record, or if it is cut off,
 * which *cut says.
 */
struct csv_names {
    char *text;
    size_t length, room, n;
};
int csv_names_read(char delimiter, const char *bytes, size_t n, bool last,
                   struct csv_names *names, size_t *used, bool *cut, struct error *err);
void csv_names_clear(struct csv_names *names);

/*
 * Columns of these names, malloc'ed; without a header, they are named by their numbers
 * from 0 on. As in pandas, a name that is there already gets a suffix, ".1", and a
 * column without a name is "Unnamed: NUMBER"; no name of the header is given to another
 * column.
 */
int csv_names_columns(const struct csv_names *names, bool header,
                      struct csv_column **columns, struct error *err);

#endif
