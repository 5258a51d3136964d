/*
 * half.h - 16-bit floating-point numbers, to float32 and back: IEEE 754 binary16
 * (float16), and the upper 16 bits of a float32 (bfloat16).
 *
 * The conversion to float32 is exact. The other one rounds to nearest, ties to even:
 * numbers that are too large become infinite, those that are too small become subnormal
 * or zero, and a NaN remains a NaN. The buffers must not overlap.
 */
#ifndef RAYTRAIN_UTIL_HALF_H
#define RAYTRAIN_UTIL_HALF_H

#include <stddef.h>
#include <stdint.h>

void float16_widen(float *restrict to, const uint16_t *restrict from, size_t n);
void float16_narrow(uint16_t *restrict to, const float *restrict from, size_t n);
void bfloat16_widen(float *restrict to, const uint16_t *restrict from, size_t n);
void bfloat16_narrow(uint16_t *restrict to, const float *restrict from, size_t n);

#endif
