/*
 * html.h - text from files, escaped for the places of a page where it may stand; and
 * the forms of numbers, durations and dates.
 */
#ifndef RAYTRAIN_PAGE_HTML_H
#define RAYTRAIN_PAGE_HTML_H

#include <stdint.h>
#include <stdio.h>

/* Text of an element or of an attribute in quotes, on one line: control characters and
 * bytes that are not UTF-8 become \xHH. */
void html_text(FILE *out, const char *text);
/* The same, but newlines and tabs stay. */
void html_lines(FILE *out, const char *text);
/* A JSON string within a script element, which no text can end. */
void html_json_string(FILE *out, const char *text);
/* A JSON number; null if it is not finite. */
void html_json_number(FILE *out, double value);
/* A word of a command line, quoted for a shell if necessary. */
void html_word(FILE *out, const char *word);

#define HTML_NUMBER_MAX 48

/* Each returns `text`. Five significant digits: "0.12346", "1,234.5", "1.2e-07"; an en
 * dash if it is not a number. */
const char *figure_text(double value, char text[HTML_NUMBER_MAX]);
/* "1,234,567" */
const char *count_text(int64_t value, char text[HTML_NUMBER_MAX]);
/* "12.3 ms", "4.5 s", "3 min 05 s", "2 h 10 min", "3 d 4 h" */
const char *duration_text(double seconds, char text[HTML_NUMBER_MAX]);
/* "Nov 24 13:02" in local time, with the year if that is not the present one; an en
 * dash if there is no such time. */
const char *date_text(double time, char text[HTML_NUMBER_MAX]);
/* "UTC+01:00": the offset of local time at that time. */
const char *zone_text(double time, char text[HTML_NUMBER_MAX]);
/* A time element with the above. */
void html_date(FILE *out, double time);

#endif
