/* json_writer.c - see json_writer.h. */
#include "util/json_writer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

#define NUMBER_MAX 32 /* bytes of any number */

void json_writer_reset(struct json_writer *w)
{
    w->n = 0;
    w->no_memory = false;
}

void json_writer_clear(struct json_writer *w)
{
    free(w->text);
    *w = (struct json_writer){0};
}

/* Room for n more bytes; NULL: no memory. */
static char *room_for(struct json_writer *w, size_t n)
{
    if (w->room - w->n < n) {
        size_t room = 2 * (w->n + n);
        char *more = realloc(w->text, room);

        if (!more) {
            w->no_memory = true;
            return NULL;
        }
        w->text = more;
        w->room = room;
    }
    return w->text + w->n;
}

static void bytes_add(struct json_writer *w, const char *bytes, size_t n)
{
    char *to = room_for(w, n);

    if (!to)
        return;
    memcpy(to, bytes, n);
    w->n += n;
}

/* Before a value: a comma, unless it is the first of its object, and the key. */
static void key_add(struct json_writer *w, const char *key)
{
    if (w->n > 0 && w->text[w->n - 1] != '{')
        bytes_add(w, ",", 1);
    if (!key)
        return;
    bytes_add(w, "\"", 1);
    bytes_add(w, key, strlen(key));
    bytes_add(w, "\":", 2);
}

void json_writer_begin(struct json_writer *w, const char *key)
{
    key_add(w, key);
    bytes_add(w, "{", 1);
}

void json_writer_end(struct json_writer *w)
{
    bytes_add(w, "}", 1);
}

/* ---- Numbers ---- */

static size_t digits_write(char *out, uint64_t value)
{
    char reversed[20];
    size_t n = 0;

    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

static size_t integer_write(char *out, int64_t value)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

    if (value < 0)
        *out = '-';
    return (value < 0) + digits_write(out + (value < 0), size);
}

/* With at most six digits after the point, if the number reads back as the same: 0.1, not
 * 0.10000000000000001. A quotient of integers below 2^53 is rounded as its decimals are.
 * 0: it does not. */
static size_t decimals_write(char *out, double value)
{
    double millionths = rint(fabs(value) * 1e6);
    uint64_t all = millionths < 0x1p53 ? (uint64_t)millionths : 0, rest = all % 1000000;
    size_t n = signbit(value) != 0;

    if ((all == 0 && value != 0) || (double)all / 1e6 != fabs(value))
        return 0;
    *out = '-';
    n += digits_write(out + n, all / 1000000);
    out[n++] = '.';
    for (uint64_t place = 100000; place > 0; place /= 10) {
        out[n++] = (char)('0' + rest / place);
        rest %= place;
        if (rest == 0)
            break;
    }
    return n;
}

/* As printf does, but with a point in every locale. */
static size_t digits17_write(char *out, double value)
{
    size_t n = 0, before, after;
    char text[NUMBER_MAX + 16];

    snprintf(text, sizeof text, "%.17g", value);
    before = strspn(text, "-0123456789");
    after = strcspn(text + before, "0123456789e");
    memcpy(out, text, before);
    n = before;
    if (after > 0)
        out[n++] = '.';
    strcpy(out + n, text + before + after);
    n += strlen(out + n);
    if (strcspn(out, ".e") == n) {
        memcpy(out + n, ".0", 2);
        n += 2;
    }
    return n;
}

void json_writer_integer(struct json_writer *w, const char *key, int64_t value)
{
    char *to;

    key_add(w, key);
    to = room_for(w, NUMBER_MAX);
    if (to)
        w->n += integer_write(to, value);
}

void json_writer_real(struct json_writer *w, const char *key, double value)
{
    size_t n;
    char *to;

    if (!isfinite(value)) {
        json_writer_raw(w, key, "null");
        return;
    }
    key_add(w, key);
    to = room_for(w, NUMBER_MAX);
    if (!to)
        return;
    n = decimals_write(to, value);
    w->n += n > 0 ? n : digits17_write(to, value);
}

/* ---- Texts ---- */

void json_writer_raw(struct json_writer *w, const char *key, const char *value)
{
    key_add(w, key);
    bytes_add(w, value, strlen(value));
}

static bool is_plain(const char *value)
{
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if (c < ' ' || c > '~' || c == '"' || c == '\\')
            return false;
    }
    return true;
}

static void quoted_add(struct json_writer *w, const char *key, const char *value)
{
    json_t *text = json_text(value);
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;

    if (quoted)
        json_writer_raw(w, key, quoted);
    else
        w->no_memory = true;
    free(quoted);
    json_decref(text);
}

void json_writer_string(struct json_writer *w, const char *key, const char *value)
{
    if (!value) {
        json_writer_raw(w, key, "null");
    } else if (is_plain(value)) {
        json_writer_raw(w, key, "\"");
        bytes_add(w, value, strlen(value));
        bytes_add(w, "\"", 1);
    } else {
        quoted_add(w, key, value);
    }
}
