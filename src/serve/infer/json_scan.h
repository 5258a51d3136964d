/*
 * json_scan.h - JSON, read value by value from bytes that need not end with a NUL.
 *
 *     json_scan_open(s, '{');
 *     while (json_scan_more(s, '}', &first))
 *         switch (json_scan_member(s, keys, n_keys, &seen)) ...
 *
 * The first thing that is wrong is kept, and all calls after it fail.
 */
#ifndef RAYTRAIN_INFER_JSON_SCAN_H
#define RAYTRAIN_INFER_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 64 /* lists and objects in each other */

struct json_scan {
    const char *begin, *at, *end;
    unsigned depth;
    char wrong[96]; /* what is wrong at `at`; empty: nothing so far */
};

void json_scan_init(struct json_scan *s, const char *bytes, size_t n);
/* Keep what is wrong, unless something was before. Returns false. */
bool json_scan_wrong(struct json_scan *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The first byte of what follows; 0: nothing does. */
char json_scan_peek(struct json_scan *s);
/* What a value that begins with this byte is: "a string", ... */
const char *json_kind(char first);

/* Go into a list or an object. */
bool json_scan_open(struct json_scan *s, char bracket);
/* Go to its next value; false after the last one, which is behind its bracket then. */
bool json_scan_more(struct json_scan *s, char bracket, bool *first);
/* The key of a member, and its colon: which of at most 32 keys it is, n for any other,
 * -1: something is wrong, such as a key that is there twice. *seen: 0 at first. */
int json_scan_member(struct json_scan *s, const char *const keys[], size_t n,
                     uint32_t *seen);

/* Decode a string into to[0..room); *n is how many bytes it has, all of them if it is
 * not more than room. A string never has more than it takes in JSON. */
bool json_scan_string(struct json_scan *s, char *to, size_t room, size_t *n);
bool json_scan_bool(struct json_scan *s, bool *value);
/* A number that has neither point nor exponent, from INT64_MIN to INT64_MAX. */
bool json_scan_integer(struct json_scan *s, int64_t *value);
/* The bytes of a number are at s->at; s->at is behind it then. NULL: there is none. */
const char *json_scan_number(struct json_scan *s, double *value);

/* Go over any value. */
bool json_scan_skip(struct json_scan *s);
/* Go over a list that will be read later: of its bytes only brackets and quotes are
 * looked at. */
bool json_scan_skip_list(struct json_scan *s);
/* Nothing follows but space. */
bool json_scan_done(struct json_scan *s);

#endif
