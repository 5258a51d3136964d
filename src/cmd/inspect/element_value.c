/* element_value.c - elements of all types, including float16 and bfloat16, as long
 * doubles. */
#include "inspect/element_value.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double float_of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* IEEE 754 binary16. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;

    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

#define ELEMENT(type)                                                                  \
    do {                                                                               \
        type x;                                                                        \
        memcpy(&x, at, sizeof x);                                                      \
        return (long double)x;                                                         \
    } while (0)

long double element_value(raytrain_dtype dtype, const unsigned char *at)
{
    uint16_t bits;

    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        ELEMENT(float);
    case RAYTRAIN_FLOAT64:
        ELEMENT(double);
    case RAYTRAIN_INT8:
        ELEMENT(int8_t);
    case RAYTRAIN_INT16:
        ELEMENT(int16_t);
    case RAYTRAIN_INT32:
        ELEMENT(int32_t);
    case RAYTRAIN_INT64:
        ELEMENT(int64_t);
    case RAYTRAIN_UINT16:
        ELEMENT(uint16_t);
    case RAYTRAIN_UINT32:
        ELEMENT(uint32_t);
    case RAYTRAIN_UINT64:
        ELEMENT(uint64_t);
    case RAYTRAIN_FLOAT16:
        memcpy(&bits, at, sizeof bits);
        return half_value(bits);
    case RAYTRAIN_BFLOAT16:
        memcpy(&bits, at, sizeof bits);
        return float_of_bits((uint32_t)bits << 16);
    case RAYTRAIN_UINT8:
    case RAYTRAIN_BYTES:
        break;
    }
    return *at;
}
