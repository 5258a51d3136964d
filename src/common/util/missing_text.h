/*
 * missing_text.h - texts that mean a missing value, by default or as the user has
 * listed them.
 */
#ifndef RAYTRAIN_UTIL_MISSING_TEXT_H
#define RAYTRAIN_UTIL_MISSING_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* An empty text, or one that pandas reads as a missing value: NA, NaN, null, ... */
bool text_is_missing(const char *at, size_t n);

/* Texts that the user has listed. An empty list: the default. */
struct missing_texts {
    char *const *texts;
    size_t n;
};

bool missing_texts_have(const struct missing_texts *missing, const char *at, size_t n);

#endif
