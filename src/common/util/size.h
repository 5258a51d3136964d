/* size.h - amounts of memory as people write them: "4G", "512M", "1.5T", "4096". */
#ifndef RAYTRAIN_UTIL_SIZE_H
#define RAYTRAIN_UTIL_SIZE_H

#include <stdint.h>

#include "util/error.h"

#define SIZE_TEXT_MAX 32

/*
 * A number, with at most nine digits after a point, and a unit: none or B (bytes), K,
 * M, G, T, P, E in powers of 1024, each also as KB or KiB, in upper or lower case.
 * Nothing may come before or after. Fractions of a byte are dropped. RAYTRAIN_EINVAL
 * with the reason; then *bytes is unchanged.
 */
int size_parse(const char *text, uint64_t *bytes, struct error *err);

/* Format for messages: the largest unit that leaves at least 1, with one digit after
 * the point unless that is 0 ("4G", "1.5M", "1000"). Returns text. */
char *size_format(uint64_t bytes, char text[SIZE_TEXT_MAX]);

#endif
