/*
 * csv_value.h - the kind of value that a CSV field has, and the type of a column of
 * such values. As in pandas: int64 if all values are integers; float64 if some are
 * missing or have a fraction; bool if all are true or false; otherwise words. Spaces
 * around a number are ignored.
 *
 * Different integers stay different: if some are beyond int64, or if some are missing
 * and float64 cannot hold others, they become words. A fraction or an exponent anywhere
 * in the column shows that they are not integers; then float64 is precise enough.
 */
#ifndef RAYTRAIN_TEXT_CSV_VALUE_H
#define RAYTRAIN_TEXT_CSV_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/missing_text.h"

enum csv_type {
    CSV_UNKNOWN, /* a declared type: none; a column without values has CSV_FLOAT64 */
    CSV_BOOL,    /* uint8 */
    CSV_INT64,
    CSV_FLOAT64,
    CSV_FLOAT32,
    CSV_WORDS, /* codes of a dictionary; -1: missing */
    CSV_TEXT,  /* the bytes; none if the value is missing */
    CSV_TYPES
};

/* "int64", ...; NULL for CSV_UNKNOWN */
const char *csv_type_name(enum csv_type type);
/* CSV_UNKNOWN if no type has this name. */
enum csv_type csv_type_parse(const char *name);

/* The values that a column has, as a set. */
#define CSV_SEEN_MISSING 0x1u
#define CSV_SEEN_BOOL    0x2u
#define CSV_SEEN_INT64   0x4u
#define CSV_SEEN_FLOAT64 0x8u
#define CSV_SEEN_WORD    0x10u
#define CSV_SEEN_FINE    0x20u /* an integer that float64 cannot hold; with INT64 */
#define CSV_SEEN_LARGE   0x40u /* an integer beyond int64 */
#define CSV_SEEN_BITS    7

/* The type of a column whose values are not declared; CSV_UNKNOWN if it has none. */
enum csv_type csv_type_of(unsigned seen);
/* True if it has words only because of its integers. */
bool csv_integer_words(unsigned seen);

/* True if float64 can hold the integer. */
static inline bool csv_integer_is_real(int64_t x)
{
    const int64_t all = (int64_t)1 << 53; /* it holds each integer up to this one */

    if (x >= -all && x <= all)
        return true;
    return (double)x < 9223372036854775808.0 && (int64_t)(double)x == x;
}

struct csv_value {
    int64_t integer; /* also for a bool */
    double number;   /* also for an integer */
};

/* The kind of a text, CSV_SEEN_..., and its value unless it is missing or a word. */
unsigned csv_value(const struct missing_texts *missing, const char *at, size_t n,
                   struct csv_value *value);

#endif
