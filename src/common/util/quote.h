/*
 * quote.h - make text from outside, with any bytes, printable in messages, terminals
 * and logs, or valid in JSON.
 */
#ifndef RAYTRAIN_UTIL_QUOTE_H
#define RAYTRAIN_UTIL_QUOTE_H

#include <jansson.h>
#include <stdbool.h>

#define QUOTE_TEXT_MAX 132

/*
 * The text in double quotes, on one line; quotes, backslashes, control characters and
 * bytes that are not UTF-8 are escaped as in C; text that is too long ends in "...".
 * Returns out.
 */
char *quote(const char *text, char out[QUOTE_TEXT_MAX]);

/* A copy of text for a terminal or a log: control characters and bytes that are not
 * UTF-8 become \xHH. malloc'ed, NULL without memory. */
char *printable_text(const char *text);

/* The same for a text of several lines, such as a traceback or the output of another
 * program. Lines are kept, except empty ones at the end. Each line but the first begins
 * with `indent`. */
char *printable_lines(const char *text, const char *indent);

/* A copy of a text in which each line but the first begins with `indent`, except empty
 * lines. malloc'ed, NULL without memory. */
char *indented_lines(const char *text, const char *indent);

/* A JSON string: the text as it is if it is valid UTF-8, as JSON requires; otherwise
 * made printable, so that the text of a user's function, a path or another program
 * never costs a record. A new reference; NULL without memory. */
json_t *json_text(const char *text);

/* The length of the UTF-8 character at s, 1 to 4 bytes; 0 if it is not one. */
int utf8_length(const char *s);
/* The same for a text of n bytes, which need not end with a NUL. */
int utf8_length_within(const char *s, size_t n);
/* The same; 0 also for a control character, in ASCII or beyond. */
int printable_length(const char *s);
/* The text as UTF-8: unchanged if it is UTF-8, else converted from Latin-1. False if
 * the result does not fit into `size` bytes. */
bool utf8_make(const char *text, char *out, size_t size);
/* The length of the text, cut to at most `most` bytes without splitting a character. */
size_t utf8_cut(const char *text, size_t most);

#endif
