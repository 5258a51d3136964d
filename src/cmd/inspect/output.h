/*
 * output.h - print the JSON object of a view as text, for the views of raytrain-inspect
 * and its main().
 */
#ifndef RAYTRAIN_INSPECT_OUTPUT_H
#define RAYTRAIN_INSPECT_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

/* Print a text with control characters escaped. */
void output_text(FILE *out, const char *text);
/* The same for several lines; all but the first begin with `indent`. */
void output_lines(FILE *out, const char *text, const char *indent);
/* Print a word, quoted for a shell if necessary. */
void output_word(FILE *out, const char *word);

/* A member of the object; "" or 0 if there is none of this type. */
const char *string_of(const json_t *object, const char *key);
json_int_t integer_of(const json_t *object, const char *key);

#endif
