/*
 * half.c - conversions on the bits of the numbers, without branches, so that compilers
 * vectorise the loops.
 */
#include "util/half.h"

#include <string.h>

#define SIGN32     0x80000000u
#define INFINITY32 0x7f800000u
/* For a float16, where float16_value() moves it. */
#define INFINITY16 (0x7c00u << 13)
#define NORMAL16   (0x0400u << 13) /* the smallest normal number, likewise */

static float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* ---- float16: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction ---- */

/*
 * Exponent and fraction move to their places in a float32, where the bias is 112 larger
 * (twice that for infinities and NaNs, which keep the largest exponent). A subnormal
 * number is the difference of two normal ones, so that it is correct even if the
 * processor treats subnormal operands as zero.
 */
static float float16_value(uint16_t half)
{
    const uint32_t bias = (uint32_t)112 << 23, rest = (uint32_t)(half & 0x7fff) << 13;
    const uint32_t subnormal =
        bits_of(float_of(rest + bias + (1u << 23)) - float_of(bias + (1u << 23)));
    uint32_t bits = rest >= INFINITY16 ? rest + 2 * bias : rest + bias;

    bits = rest < NORMAL16 ? subnormal : bits;
    return float_of(bits | (uint32_t)(half & 0x8000) << 16);
}

/*
 * A normal result is rounded by an addition to the bits just below the last bit that is
 * kept: half of that bit, less one if it is even. A subnormal one is rounded by the
 * processor: add a number whose last bit has the weight of the last bit of a subnormal
 * float16 (2^-24), and subtract its bits again.
 */
static uint16_t float16_bits(float f)
{
    const uint32_t all = bits_of(f), bits = all & ~SIGN32;
    const uint32_t normal =
        (bits + 0xfff + (bits >> 13 & 1) - ((uint32_t)112 << 23)) >> 13;
    const uint32_t subnormal = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
    const uint32_t special = bits > INFINITY32 ? 0x7e00 | (bits >> 13 & 0x3ff) : 0x7c00;
    uint32_t result = bits < bits_of(0x1p-14f) ? subnormal : normal;

    result = bits >= bits_of(65520.0f) ? special : result;
    return (uint16_t)(result | (all & SIGN32) >> 16);
}

void float16_widen(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float16_value(from[i]);
}

void float16_narrow(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float16_bits(from[i]);
}

/* ---- bfloat16 ---- */

void bfloat16_widen(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float_of((uint32_t)from[i] << 16);
}

/* A NaN whose fraction would be cut to zero must not become an infinity. */
void bfloat16_narrow(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = bits_of(from[i]);
        uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
        uint32_t kept = (bits & ~SIGN32) > INFINITY32 ? bits | 0x400000 : rounded;

        to[i] = (uint16_t)(kept >> 16);
    }
}
