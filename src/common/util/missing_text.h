/* missing_text.h - texts that mean that a value is missing, unless the user says which
 * do. */
#ifndef RAYTRAIN_UTIL_MISSING_TEXT_H
#define RAYTRAIN_UTIL_MISSING_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* No text, and what pandas takes for a missing value: NA, NaN, null, ... */
bool text_is_missing(const char *at, size_t n);

/* Those that the user has listed. None: as above. */
struct missing_texts {
    char *const *texts;
    size_t n;
};

bool missing_texts_have(const struct missing_texts *missing, const char *at, size_t n);

#endif
