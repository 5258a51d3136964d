/*
 * csv_scan.h - where the records of CSV text are, without parsing their fields.
 *
 * The grammar is that of pandas' parser. A record ends with LF, CR or CR LF. A quote
 * counts only as the first byte of a field; then delimiters and ends of lines are plain
 * bytes up to the closing quote, and two quotes are one. What follows the closing quote
 * belongs to the field. A line that is empty, or has only spaces and tabs, is no
 * record.
 *
 * Whether an end of line ends a record depends on everything before it. So that ranges
 * of a file can be scanned at once, a scan says what a range does from *each* state in
 * which it may begin, and two scans of adjacent ranges join to one.
 */
#ifndef RAYTRAIN_TEXT_CSV_SCAN_H
#define RAYTRAIN_TEXT_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is before a byte. */
enum csv_state {
    CSV_RECORD, /* the end of a line, or the beginning of the file */
    CSV_BLANKS, /* nothing but spaces and tabs in this line */
    CSV_FIELD,  /* a delimiter */
    CSV_PLAIN,  /* a field, without quotes or after the closing one */
    CSV_QUOTED, /* the inside of quotes */
    CSV_QUOTE,  /* a quote in quotes: the closing one, or the first of two */
    CSV_OPEN,   /* the end of a file inside quotes; it remains */
    CSV_STATES
};

struct csv_scan {
    struct {
        uint8_t state;    /* at the end */
        uint64_t records; /* that end in the range */
    } from[CSV_STATES];
};

/* An empty range. */
void csv_scan_init(struct csv_scan *s);
/* The range goes on with these bytes. */
void csv_scan_add(struct csv_scan *s, char delimiter, const char *bytes, size_t n);
/* The file ends here: the last record does, too, and the next file follows. */
void csv_scan_end(struct csv_scan *s);
/* Another range follows. */
void csv_scan_join(struct csv_scan *s, const struct csv_scan *next);

/* From *state on, to the byte after the next end of a line that is not in quotes; n if
 * there is none. *record: it ended a record. */
size_t csv_scan_line(char delimiter, enum csv_state *state, const char *bytes, size_t n,
                     bool *record);

/* True: *at is where the last quote opens that is still open after the bytes. */
bool csv_scan_open_quote(char delimiter, enum csv_state *state, const char *bytes,
                         size_t n, size_t *at);

/* No more records end in the bytes than this, which is found fast. */
size_t csv_scan_lines(const char *bytes, size_t n);

/*
 * The ways to scan that this processor has, by instructions that it has or not: NULL
 * after the last one. The functions above take the first; tests take each.
 */
struct csv_way;
const struct csv_way *csv_way_at(size_t i);
const char *csv_way_name(const struct csv_way *way);
void csv_scan_add_by(const struct csv_way *way, struct csv_scan *s, char delimiter,
                     const char *bytes, size_t n);
size_t csv_scan_lines_by(const struct csv_way *way, const char *bytes, size_t n);

#endif
