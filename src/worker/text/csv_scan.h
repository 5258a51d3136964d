/*
 * csv_scan.h - finds the records of CSV text, without parsing their fields.
 *
 * The grammar is that of pandas' parser. A record ends with LF, CR or CR LF. A quote
 * opens only as the first byte of a field; up to the closing quote, delimiters and ends
 * of lines are plain bytes, and two quotes mean one. What follows the closing quote
 * belongs to the field. A line that is empty, or has only spaces and tabs, is not a
 * record.
 *
 * Whether an end of line ends a record depends on everything before it. To scan ranges
 * of a file at the same time, a scan has a result for *each* state in which its range
 * may begin, and the scans of two adjacent ranges can be joined.
 */
#ifndef RAYTRAIN_TEXT_CSV_SCAN_H
#define RAYTRAIN_TEXT_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What comes before a byte. */
enum csv_state {
    CSV_RECORD, /* the end of a line, or the beginning of the file */
    CSV_BLANKS, /* nothing but spaces and tabs in this line */
    CSV_FIELD,  /* a delimiter */
    CSV_PLAIN,  /* a field, without quotes or after the closing one */
    CSV_QUOTED, /* the inside of quotes */
    CSV_QUOTE,  /* a quote in quotes: the closing one, or the first of two */
    CSV_OPEN,   /* the end of a file inside quotes; this state does not change */
    CSV_STATES
};

struct csv_scan {
    struct {
        uint8_t state;    /* at the end */
        uint64_t records; /* the number that end in the range */
    } from[CSV_STATES];
};

/* Begins with an empty range. */
void csv_scan_init(struct csv_scan *s);
/* Adds these bytes to the range. */
void csv_scan_add(struct csv_scan *s, char delimiter, const char *bytes, size_t n);
/* Ends the file, and so its last record; the next file follows. */
void csv_scan_end(struct csv_scan *s);
/* Adds the range that follows. */
void csv_scan_join(struct csv_scan *s, const struct csv_scan *next);

/* Scans from *state to the byte after the next end of a line outside quotes, or to n if
 * there is none. *record: that ended a record. */
size_t csv_scan_line(char delimiter, enum csv_state *state, const char *bytes, size_t n,
                     bool *record);

/* True if a quote is still open after the bytes; *at is where it opens. */
bool csv_scan_open_quote(char delimiter, enum csv_state *state, const char *bytes,
                         size_t n, size_t *at);

/* A fast upper limit of the number of records that end in the bytes. */
size_t csv_scan_lines(const char *bytes, size_t n);

/*
 * The implementations of the scan that this processor can run; NULL after the last one.
 * The functions above use the first; tests use each.
 */
struct csv_way;
const struct csv_way *csv_way_at(size_t i);
const char *csv_way_name(const struct csv_way *way);
void csv_scan_add_by(const struct csv_way *way, struct csv_scan *s, char delimiter,
                     const char *bytes, size_t n);
size_t csv_scan_lines_by(const struct csv_way *way, const char *bytes, size_t n);

#endif
