/*
 * json_writer.h - write one JSON object as text, in order. It is for objects that are
 * written thousands of times a second, where building an object of jansson would
 * dominate the cost.
 *
 * Values in a list have no key: NULL.
 */
#ifndef RAYTRAIN_UTIL_JSON_WRITER_H
#define RAYTRAIN_UTIL_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros: an empty writer. */
struct json_writer {
    /* malloc'ed, not terminated by a NUL. The memory is kept for the next object. */
    char *text;
    size_t n, room;
    bool no_memory; /* something is missing */
};

/* Start a new object, in the same memory. */
void json_writer_reset(struct json_writer *w);
void json_writer_clear(struct json_writer *w);

/* Keys and raw values are written as they are: keys must not need escapes, and raw
 * values must be JSON. key: NULL for the outermost object. */
void json_writer_begin(struct json_writer *w, const char *key);
void json_writer_end(struct json_writer *w);
void json_writer_list_begin(struct json_writer *w, const char *key);
void json_writer_list_end(struct json_writer *w);
void json_writer_integer(struct json_writer *w, const char *key, int64_t value);
void json_writer_unsigned(struct json_writer *w, const char *key, uint64_t value);
/* Reads back as the same number. NaN and infinities become null, since JSON cannot
 * express them. */
void json_writer_real(struct json_writer *w, const char *key, double value);
/* The same, with at most the digits of a float. */
void json_writer_real32(struct json_writer *w, const char *key, float value);
/* NULL: null. Bytes that are not UTF-8 are escaped as by json_text() (quote.h). */
void json_writer_string(struct json_writer *w, const char *key, const char *value);
/* The same for n bytes, which may contain NULs and need not end with one. */
void json_writer_text(struct json_writer *w, const char *key, const char *bytes,
                      size_t n);
void json_writer_raw(struct json_writer *w, const char *key, const char *value);

#endif
