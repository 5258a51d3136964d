/* quote.h - text from outside, whatever bytes it holds: printable for messages,
 * terminals and logs, and as JSON. */
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

/* The same for a text of several lines, such as a traceback or what another program has
 * said: the lines are kept, without empty ones at the end. Each line but the first
 * begins with `indent`. */
char *printable_lines(const char *text, const char *indent);

/* A copy of a text whose lines, each but the first, begin with `indent`; an empty one stays
 * empty. malloc'ed, NULL without memory. */
char *indented_lines(const char *text, const char *indent);

/* A JSON string: the text as it is if it is UTF-8, which is all that JSON holds; else
 * printable, so that no record is lost because of what a user's function, a path or
 * another program said. A new reference; NULL without memory. */
json_t *json_text(const char *text);

/* The bytes of the UTF-8 character at s (1 to 4); 0 if there is none. */
int utf8_length(const char *s);
/* The same for a text of n bytes, which need not end with a NUL. */
int utf8_length_within(const char *s, size_t n);
/* The same; 0 also for a control character, in ASCII or beyond. */
int printable_length(const char *s);
/* The text in UTF-8: as it is if it is UTF-8, else taken for Latin-1. False if that
 * needs more than `size` bytes. */
bool utf8_make(const char *text, char *out, size_t size);
/* The bytes of the text, at most so many, that do not end within a character. */
size_t utf8_cut(const char *text, size_t most);

#endif
