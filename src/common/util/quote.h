/* quote.h - foreign text for messages: one line, printable, bounded, whatever it holds.
 */
#ifndef RAYTRAIN_UTIL_QUOTE_H
#define RAYTRAIN_UTIL_QUOTE_H

#define QUOTE_TEXT_MAX 132

/*
 * The text in double quotes; quotes, backslashes, control bytes and bytes that are not
 * UTF-8 are escaped like in C; what is too long ends in "...". Returns out.
 */
char *quote(const char *text, char out[QUOTE_TEXT_MAX]);

/* The bytes of the UTF-8 character at s (1 to 4); 0 where there is none. */
int utf8_length(const char *s);
/* The same; 0 also for a control character, of ASCII or beyond: what a terminal is not
 * to see. */
int printable_length(const char *s);

#endif
