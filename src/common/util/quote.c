/* quote.c - the escapes of each notation, and where a UTF-8 character ends. */
#include "util/quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int utf8_length(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    unsigned code;
    int n;

    if (u[0] < 0x80)
        return u[0] != 0;
    n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4)
        return 0;
    code = u[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (u[i] & 0x3f);
    }
    /* overlong forms, surrogates, beyond Unicode */
    if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

int utf8_length_within(const char *s, size_t n)
{
    char character[5] = "";

    memcpy(character, s, n < 4 ? n : 4);
    return utf8_length(character);
}

int printable_length(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    bool control = u[0] < 0x20 || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);

    return control ? 0 : utf8_length(s);
}

size_t utf8_cut(const char *text, size_t most)
{
    size_t n = strnlen(text, most + 1);

    if (n <= most)
        return n;
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
        continue;
    return n;
}

static bool utf8_is(const char *text)
{
    int n;

    while ((n = utf8_length(text)) > 0)
        text += n;
    return *text == '\0';
}

bool utf8_make(const char *text, char *out, size_t size)
{
    bool utf8 = utf8_is(text);
    size_t n = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool wide = !utf8 && c >= 0x80;

        if (n + 1 + wide >= size)
            return false;
        if (wide) {
            out[n++] = (char)(0xc0 | c >> 6);
            c = 0x80 | (c & 0x3f);
        }
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return true;
}

/* Copy one character of *text to piece, escaped if necessary; advances *text. */
static void piece_next(const char **text, char piece[8])
{
    static const char escaped[] = "\a\b\f\n\r\t\v\"\\", letters[] = "abfnrtv\"\\";
    const char *found = strchr(escaped, **text);
    int n = printable_length(*text);

    if (found)
        snprintf(piece, 8, "\\%c", letters[found - escaped]);
    else if (n == 0)
        snprintf(piece, 8, "\\x%02x", (unsigned char)**text);
    else
        snprintf(piece, 8, "%.*s", n, *text);
    *text += n ? n : 1;
}

char *quote(const char *text, char out[QUOTE_TEXT_MAX])
{
    size_t used = 1;
    char piece[8];

    out[0] = '"';
    while (*text) {
        piece_next(&text, piece);
        /* Keep room for this piece, three dots, the closing quote and the NUL. */
        if (used + strlen(piece) + 5 > QUOTE_TEXT_MAX) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, piece, strlen(piece));
        used += strlen(piece);
    }
    memcpy(out + used, "\"", 2);
    return out;
}

char *printable_text(const char *text)
{
    const char *s = text;
    char *out = malloc(4 * strlen(text) + 1);
    char *o = out;

    if (!out)
        return NULL;
    while (*s) {
        int n = printable_length(s);

        if (n == 0) {
            o += sprintf(o, "\\x%02x", (unsigned char)*s++);
            continue;
        }
        memcpy(o, s, (size_t)n);
        o += n;
        s += n;
    }
    *o = '\0';
    return out;
}

char *printable_lines(const char *text, const char *indent)
{
    size_t length = strlen(text), size, n;
    char *out = NULL, *line, *shown;
    FILE *to = open_memstream(&out, &size);

    while (length > 0 && text[length - 1] == '\n')
        length--;
    for (const char *at = text, *end = text + length; to && at < end; at += n + 1) {
        n = (size_t)(end - at);
        if (memchr(at, '\n', n))
            n = strcspn(at, "\n");
        line = strndup(at, n);
        shown = line ? printable_text(line) : NULL;
        fprintf(to, "%s%s%s", at > text ? "\n" : "", at > text ? indent : "",
                shown ? shown : "?");
        free(shown);
        free(line);
    }
    if (to && fclose(to) != 0) {
        free(out);
        out = NULL;
    }
    return out;
}

char *indented_lines(const char *text, const char *indent)
{
    size_t lines = 0, used = strlen(indent);
    char *out, *to;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    out = to = malloc(strlen(text) + lines * used + 1);
    for (; out && *text; text++) {
        *to++ = *text;
        if (*text == '\n' && text[1] && text[1] != '\n')
            to = stpcpy(to, indent);
    }
    if (out)
        *to = '\0';
    return out;
}

json_t *json_text(const char *text)
{
    json_t *value = json_string(text);
    char *printable;

    if (value)
        return value;
    printable = printable_text(text);
    value = printable ? json_string(printable) : NULL;
    free(printable);
    return value;
}
