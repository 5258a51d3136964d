/* suggest.h - "did you mean": how far two words are apart, and the nearest of a list.
 */
#ifndef RAYTRAIN_UTIL_SUGGEST_H
#define RAYTRAIN_UTIL_SUGGEST_H

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours that make a into b; upper
 * and lower case are alike, and so are '-' and '_'. Words over 64 bytes are SIZE_MAX
 * apart. */
size_t suggest_distance(const char *a, const char *b);

/* Is a word at this distance worth suggesting for one that was mistyped? (A third of
 * its length, at least one.) */
int suggest_is_near(const char *typed, size_t distance);

/* The nearest of words[0..n), the first of equals; NULL where none is near. */
const char *suggest_nearest(const char *typed, const char *const words[], size_t n);

#endif
