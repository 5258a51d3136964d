/* suggest.h - "did you mean": the distance of two words, and the nearest word of a
 * list. */
#ifndef RAYTRAIN_UTIL_SUGGEST_H
#define RAYTRAIN_UTIL_SUGGEST_H

#include <stddef.h>

/* How many insertions, deletions, replacements and swaps of adjacent characters turn a
 * into b; upper and lower case are equal, and so are '-' and '_'. Words over 64 bytes
 * are SIZE_MAX apart. */
size_t suggest_distance(const char *a, const char *b);

/* Is a word at this distance worth suggesting for a mistyped one? (A third of its
 * length, at least one.) */
int suggest_is_near(const char *typed, size_t distance);

/* The nearest of words[0..n), the first of equals; NULL if none is near. */
const char *suggest_nearest(const char *typed, const char *const words[], size_t n);

/* The same. If none is near, the only word that is abbreviated by letters in
 * their order ("lgbm", "tf"), or that is part of the typed one ("pytorch"). For
 * short lists. */
const char *suggest_meant(const char *typed, const char *const words[], size_t n);

#endif
