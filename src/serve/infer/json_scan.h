/*
 * json_scan.h - JSON, read value by value from bytes that need not end with a NUL.
 *
 *     json_scan_open(s, '{');
 *     while (json_scan_more(s, '}', &first))
 *         switch (json_scan_member(s, keys, n_keys, &seen)) ...
 *
 * The first error is kept, and all later calls fail.
 */
#ifndef RAYTRAIN_INFER_JSON_SCAN_H
#define RAYTRAIN_INFER_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 64 /* depth of lists and objects */

struct json_scan {
    const char *begin, *at, *end;
    unsigned depth;
    char wrong[96]; /* the error at `at`; empty: none so far */
};

void json_scan_init(struct json_scan *s, const char *bytes, size_t n);
/* Keep this error, unless there was one before. Returns false. */
bool json_scan_wrong(struct json_scan *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The next byte that is not a space; 0: the text has ended. */
char json_scan_peek(struct json_scan *s);
/* A description of a value that begins with this byte: "a string", ... */
const char *json_kind(char first);

/* Enter a list or an object. */
bool json_scan_open(struct json_scan *s, char bracket);
/* Go to its next value; false after the last one: then the scanner is past the
 * bracket. */
bool json_scan_more(struct json_scan *s, char bracket, bool *first);
/* Read the key of a member, and its colon: returns which of at most 32 keys it is, n
 * for any other, -1: an error, such as a key that is there twice. *seen: 0 at first. */
int json_scan_member(struct json_scan *s, const char *const keys[], size_t n,
                     uint32_t *seen);

/* Decode a string into to[0..room); *n is the number of its bytes, all of them if they
 * fit. A string is never longer than its form in JSON. */
bool json_scan_string(struct json_scan *s, char *to, size_t room, size_t *n);
bool json_scan_bool(struct json_scan *s, bool *value);
/* Read a number without point and exponent, from INT64_MIN to INT64_MAX. */
bool json_scan_integer(struct json_scan *s, int64_t *value);
/* Find the bytes of a number: returns where they begin, with s->at after them. NULL:
 * there is no number. */
const char *json_scan_number(struct json_scan *s, double *value);

/* Skip any value. */
bool json_scan_skip(struct json_scan *s);
/* Skip a list that will be read later: only its brackets and quotes are checked. */
bool json_scan_skip_list(struct json_scan *s);
/* Check that only spaces follow. */
bool json_scan_done(struct json_scan *s);

#endif
