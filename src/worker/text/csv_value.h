/*
 * csv_value.h - what the text of a CSV field is, and which type a column of such values
 * has. As in pandas: int64 if all values are integers; float64 if some are missing or
 * have a fraction; bool if all are true or false; else words. Spaces around a number do
 * not count.
 *
 * Integers stay different from each other: if some are beyond int64, or if some are
 * missing and float64 does not hold others, they are words. A fraction or an exponent
 * anywhere in the column says that they are not integers, and float64 is enough.
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
    CSV_TEXT,  /* the bytes, none if it is missing */
    CSV_TYPES
};

/* "int64", ...; NULL for CSV_UNKNOWN */
const char *csv_type_name(enum csv_type type);
/* CSV_UNKNOWN if there is no type of this name. */
enum csv_type csv_type_parse(const char *name);

/* The values that a column has, as a set. */
#define CSV_SEEN_MISSING 0x1u
#define CSV_SEEN_BOOL    0x2u
#define CSV_SEEN_INT64   0x4u
#define CSV_SEEN_FLOAT64 0x8u
#define CSV_SEEN_WORD    0x10u
#define CSV_SEEN_FINE    0x20u /* an integer that float64 does not hold, beside INT64 */
#define CSV_SEEN_LARGE   0x40u /* an integer beyond int64 */
#define CSV_SEEN_BITS    7

/* The type of a column whose values are not declared; CSV_UNKNOWN if it has none. */
enum csv_type csv_type_of(unsigned seen);
/* Would it have words because of its integers alone? */
bool csv_integer_words(unsigned seen);

/* Is there a double of this value? */
static inline bool csv_integer_is_real(int64_t x)
{
    const int64_t all = (int64_t)1 << 53; /* up to here there is one for each integer */

    if (x >= -all && x <= all)
        return true;
    return (double)x < 9223372036854775808.0 && (int64_t)(double)x == x;
}

struct csv_value {
    int64_t integer; /* also of a bool */
    double number;   /* also of an integer */
};

/* What a text is, CSV_SEEN_..., and its value unless it is missing or a word. */
unsigned csv_value(const struct missing_texts *missing, const char *at, size_t n,
                   struct csv_value *value);

#endif
