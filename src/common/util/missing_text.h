/* missing_text.h - texts that mean that a value is missing, unless the user says which
 * do. */
#ifndef RAYTRAIN_UTIL_MISSING_TEXT_H
#define RAYTRAIN_UTIL_MISSING_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* No text, and what pandas takes for a missing value: NA, NaN, null, ... */
bool text_is_missing(const char *at, size_t n);

#endif
