/*
 * half.h - 16-bit floating-point numbers, as float32 and back: IEEE 754 binary16
 * (float16), and the upper 16 bits of a float32 (bfloat16).
 *
 * To float32 is exact. From float32 is to the nearest, and to even between two; what is
 * too large becomes infinite, what is too small a subnormal number or zero, and a NaN
 * stays one. The buffers must not overlap.
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
