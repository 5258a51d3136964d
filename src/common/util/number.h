/*
 * number.h - parse numbers in bytes that need not end with a NUL, in the notation of C
 * and JSON, in any locale.
 *
 * Both functions parse the longest number that at[0..end) begins with, and return the
 * first byte after it, or `at` if there is none. Spaces are not skipped; a sign may be
 * '+'.
 */
#ifndef RAYTRAIN_UTIL_NUMBER_H
#define RAYTRAIN_UTIL_NUMBER_H

#include <stdint.h>

/* Digits only. Returns `at` if there are none, or if the value does not fit. */
const char *number_int64(const char *at, const char *end, int64_t *value);

/* Digits with a point and an exponent, or inf, infinity or nan in any case. The value
 * is the nearest double; ties go to even. */
const char *number_float64(const char *at, const char *end, double *value);

#endif
