/*
 * json_writer.h - write one JSON object as text, in order: for what is written thousands
 * of times a second, where an object of jansson costs more than all the rest.
 *
 * Values in a list have no key: NULL.
 */
#ifndef RAYTRAIN_UTIL_JSON_WRITER_H
#define RAYTRAIN_UTIL_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros are an empty one. */
struct json_writer {
    char *text; /* malloc'ed, not terminated by a NUL; keeps its memory for the next */
    size_t n, room;
    bool no_memory; /* something is missing */
};

/* Begin anew, in the memory that there is. */
void json_writer_reset(struct json_writer *w);
void json_writer_clear(struct json_writer *w);

/* Keys and raw values are written as they are: keys have no characters that JSON escapes,
 * raw values are JSON. key: NULL for the outermost object. */
void json_writer_begin(struct json_writer *w, const char *key);
void json_writer_end(struct json_writer *w);
void json_writer_list_begin(struct json_writer *w, const char *key);
void json_writer_list_end(struct json_writer *w);
void json_writer_integer(struct json_writer *w, const char *key, int64_t value);
void json_writer_unsigned(struct json_writer *w, const char *key, uint64_t value);
/* Reads back as the same number; NaN and infinities are null, which is all that JSON has
 * for them. */
void json_writer_real(struct json_writer *w, const char *key, double value);
/* The same, with no more digits than a float has. */
void json_writer_real32(struct json_writer *w, const char *key, float value);
/* NULL: null. Bytes that are not UTF-8 as json_text() has them (quote.h). */
void json_writer_string(struct json_writer *w, const char *key, const char *value);
/* The same for bytes that need not end with a NUL, and may have some. */
void json_writer_text(struct json_writer *w, const char *key, const char *bytes,
                      size_t n);
void json_writer_raw(struct json_writer *w, const char *key, const char *value);

#endif
