/*
 * csv_field.c - find the ends of CSV fields, eight bytes at a time. The worker's
 * text/csv_scan.c finds the records.
 */
#include "util/csv_field.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(b) (UINT64_C(0x0101010101010101) * (unsigned char)(b))

void csv_cursor_clear(struct csv_cursor *c)
{
    free(c->unquoted);
    c->unquoted = NULL;
    c->room = 0;
}

static bool is_blank_byte(const struct csv_cursor *c, char byte)
{
    return (byte == ' ' || byte == '\t') && byte != c->delimiter;
}

static bool line_end(char byte)
{
    return byte == '\n' || byte == '\r';
}

bool csv_record_find(struct csv_cursor *c, const char *stop)
{
    while (c->at < stop) {
        const char *at = c->at;

        while (at < c->end && is_blank_byte(c, *at))
            at++;
        if (at == c->end) {
            if (c->last)
                c->at = at;
            return false;
        }
        if (!line_end(*at))
            return true;
        c->at = at + 1;
    }
    return false;
}

/* The highest bit of each byte that is 0. In bytes after the first such one, it may be
 * set even if they are not 0. */
static uint64_t zeros(uint64_t x)
{
    return (x - BYTES(1)) & ~x & BYTES(0x80);
}

/* The end of a field, from a place outside of quotes. */
static const char *plain_end(const struct csv_cursor *c, const char *at)
{
    const uint64_t delimiter = BYTES(c->delimiter), lf = BYTES('\n'), cr = BYTES('\r');
    uint64_t x;

    for (; c->end - at >= 8; at += 8) {
        memcpy(&x, at, 8);
        x = le64toh(x);
        x = zeros(x ^ delimiter) | zeros(x ^ lf) | zeros(x ^ cr);
        if (x)
            return at + __builtin_ctzll(x) / 8;
    }
    while (!csv_ends_field(c, at))
        at++;
    return at;
}

static bool append(struct csv_cursor *c, size_t *used, const char *at, size_t n)
{
    if (c->room - *used < n) {
        size_t room = 2 * (*used + n);
        char *grown = realloc(c->unquoted, room);

        if (!grown)
            return false;
        c->unquoted = grown;
        c->room = room;
    }
    if (n > 0)
        memcpy(c->unquoted + *used, at, n);
    *used += n;
    return true;
}

/* c->at is after the opening quote. Pieces between quotes are joined, unless there is
 * only one. */
static enum csv_end quoted_read(struct csv_cursor *c, const char **text, size_t *n)
{
    const char *first = c->at, *quote;
    size_t used = 0;

    for (;;) {
        quote = memchr(c->at, '"', (size_t)(c->end - c->at));
        if (!quote)
            return c->last ? CSV_AT_QUOTE : CSV_AT_CUT;
        if (quote + 1 == c->end || quote[1] != '"')
            break;
        if (!append(c, &used, c->at, (size_t)(quote + 1 - c->at)))
            return CSV_AT_NO_MEMORY;
        c->at = quote + 2;
    }
    if (used == 0 && csv_ends_field(c, quote + 1)) {
        *text = first;
        *n = (size_t)(quote - first);
        c->at = quote + 1;
        return csv_field_end(c);
    }
    if (!append(c, &used, c->at, (size_t)(quote - c->at)))
        return CSV_AT_NO_MEMORY;
    c->at = plain_end(c, quote + 1);
    if (!append(c, &used, quote + 1, (size_t)(c->at - quote - 1)))
        return CSV_AT_NO_MEMORY;
    *text = c->unquoted;
    *n = used;
    return csv_field_end(c);
}

enum csv_end csv_field_read(struct csv_cursor *c, const char **text, size_t *n)
{
    if (c->at < c->end && *c->at == '"') {
        c->at++;
        return quoted_read(c, text, n);
    }
    *text = c->at;
    c->at = plain_end(c, c->at);
    *n = (size_t)(c->at - *text);
    return csv_field_end(c);
}
