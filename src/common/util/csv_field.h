/*
 * csv_field.h - CSV text, read field by field. The worker's text/csv_scan.h describes
 * the grammar.
 */
#ifndef RAYTRAIN_UTIL_CSV_FIELD_H
#define RAYTRAIN_UTIL_CSV_FIELD_H

#include <stdbool.h>
#include <stddef.h>

struct csv_cursor {
    const char *at, *end;
    char delimiter;
    bool last; /* the file ends at `end`; otherwise the text is cut off there */
    /* The text of the last field that had quotes; csv_cursor_clear() frees it. */
    char *unquoted;
    size_t room;
};

enum csv_end {
    CSV_AT_DELIMITER, /* another field follows */
    CSV_AT_LINE_END,  /* it was the last one of the record */
    CSV_AT_CUT,       /* the field may continue after the text */
    CSV_AT_QUOTE,     /* the file ends inside quotes */
    CSV_AT_NO_MEMORY
};

void csv_cursor_clear(struct csv_cursor *c);

/* Go to the next record, skipping empty lines. False: no record begins before `stop`,
 * or the one that begins there is cut off. */
bool csv_record_find(struct csv_cursor *c, const char *stop);

/* The text of the field at c->at, valid until the next call; c->at is then after the
 * delimiter or the end of the line. */
enum csv_end csv_field_read(struct csv_cursor *c, const char **text, size_t *n);

/* How the field that ends at c->at ends; advances past its end. */
static inline enum csv_end csv_field_end(struct csv_cursor *c)
{
    if (c->at == c->end)
        return c->last ? CSV_AT_LINE_END : CSV_AT_CUT;
    return *c->at++ == c->delimiter ? CSV_AT_DELIMITER : CSV_AT_LINE_END;
}

/* Can a field end before this byte? */
static inline bool csv_ends_field(const struct csv_cursor *c, const char *at)
{
    return at == c->end || *at == c->delimiter || *at == '\n' || *at == '\r';
}

#endif
