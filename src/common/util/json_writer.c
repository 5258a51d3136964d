/*
 * json_writer.c - append JSON to a buffer that is reused. Numbers have few digits if
 * that is exact, else as many as printf(3) needs; quote.h escapes texts.
 */
#include "util/json_writer.h"

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

/* Before a value: a comma, unless it is the first of its object or list, and the key. */
static void key_add(struct json_writer *w, const char *key)
{
    if (w->n > 0 && w->text[w->n - 1] != '{' && w->text[w->n - 1] != '[')
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

void json_writer_list_begin(struct json_writer *w, const char *key)
{
    key_add(w, key);
    bytes_add(w, "[", 1);
}

void json_writer_list_end(struct json_writer *w)
{
    bytes_add(w, "]", 1);
}

/* ---- Numbers ---- */

static const double tens[] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                              1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
#define TENS ((int)(sizeof tens / sizeof *tens))

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

/* `all` / 10^places, with at least one digit after the point. */
static size_t decimals_write(char *out, uint64_t all, int places)
{
    size_t n;

    for (; places > 1 && all % 10 == 0; places--)
        all /= 10;
    n = digits_write(out, all / (uint64_t)tens[places]);
    out[n++] = '.';
    for (all %= (uint64_t)tens[places]; places-- > 0; all %= (uint64_t)tens[places])
        out[n++] = (char)('0' + all / (uint64_t)tens[places]);
    return n;
}

/* With at most six digits after the point, if the number then reads back the same: 0.1,
 * not 0.10000000000000001. The quotient of two integers below 2^53 is rounded like a
 * decimal text. Returns 0 if the number does not read back the same. */
static size_t short_write(char *out, double value)
{
    double millionths = rint(fabs(value) * 1e6);
    uint64_t all = millionths < 0x1p53 ? (uint64_t)millionths : 0;
    size_t n = signbit(value) != 0;

    if ((all == 0 && value != 0) || (double)all / 1e6 != fabs(value))
        return 0;
    *out = '-';
    return n + decimals_write(out + n, all, 6);
}

/* The same for a float, with as few digits as necessary, up to 12 after the point. */
static size_t short32_write(char *out, float value)
{
    double size = fabs((double)value);
    size_t n = signbit(value) != 0;

    *out = '-';
    for (int places = 6; places < TENS; places++) {
        double scaled = rint(size * tens[places]);

        if (scaled >= 0x1p53)
            return 0;
        if ((float)(scaled / tens[places]) == (float)size)
            return n + decimals_write(out + n, (uint64_t)scaled, places);
    }
    return 0;
}

/* Like printf, but with a point in every locale. */
static size_t digits_print(char *out, double value, int digits)
{
    size_t n = 0, before, after;
    char text[NUMBER_MAX + 16];

    snprintf(text, sizeof text, "%.*g", digits, value);
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

void json_writer_unsigned(struct json_writer *w, const char *key, uint64_t value)
{
    char *to;

    key_add(w, key);
    to = room_for(w, NUMBER_MAX);
    if (to)
        w->n += digits_write(to, value);
}

/* Room for a number. NULL: it is written as null already, or there is no memory. */
static char *real_begin(struct json_writer *w, const char *key, bool is_finite)
{
    if (!is_finite) {
        json_writer_raw(w, key, "null");
        return NULL;
    }
    key_add(w, key);
    return room_for(w, NUMBER_MAX);
}

void json_writer_real(struct json_writer *w, const char *key, double value)
{
    char *to = real_begin(w, key, isfinite(value));
    size_t n = to ? short_write(to, value) : 0;

    if (to)
        w->n += n > 0 ? n : digits_print(to, value, 17);
}

void json_writer_real32(struct json_writer *w, const char *key, float value)
{
    char *to = real_begin(w, key, isfinite(value));
    size_t n = to ? short32_write(to, value) : 0;

    if (to)
        w->n += n > 0 ? n : digits_print(to, (double)value, 9);
}

/* ---- Texts ---- */

void json_writer_raw(struct json_writer *w, const char *key, const char *value)
{
    key_add(w, key);
    bytes_add(w, value, strlen(value));
}

/* How many bytes can be written as they are. */
static size_t plain_length(const char *at, size_t n)
{
    size_t i = 0;

    while (i < n && at[i] >= ' ' && at[i] <= '~' && at[i] != '"' && at[i] != '\\')
        i++;
    return i;
}

/* Add one character that needs escaping. Returns its length in bytes. */
static size_t character_add(struct json_writer *w, const char *at, size_t n)
{
    unsigned char c = (unsigned char)*at;
    size_t length = (size_t)utf8_length_within(at, n);
    char escaped[8];

    if (c == '"' || c == '\\')
        snprintf(escaped, sizeof escaped, "\\%c", c);
    else if (c < ' ')
        snprintf(escaped, sizeof escaped, "\\u%04x", c);
    else if (length == 0)
        snprintf(escaped, sizeof escaped, "\\\\x%02x", c);
    else
        snprintf(escaped, sizeof escaped, "%.*s", (int)length, at);
    bytes_add(w, escaped, strlen(escaped));
    return length > 0 ? length : 1;
}

void json_writer_text(struct json_writer *w, const char *key, const char *bytes,
                      size_t n)
{
    json_writer_raw(w, key, "\"");
    for (size_t i = 0; i < n;) {
        size_t plain = plain_length(bytes + i, n - i);

        bytes_add(w, bytes + i, plain);
        i += plain;
        if (i < n)
            i += character_add(w, bytes + i, n - i);
    }
    bytes_add(w, "\"", 1);
}

void json_writer_string(struct json_writer *w, const char *key, const char *value)
{
    if (value)
        json_writer_text(w, key, value, strlen(value));
    else
        json_writer_raw(w, key, "null");
}
