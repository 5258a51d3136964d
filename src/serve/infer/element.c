/* element.c - parse numbers, and store and convert them with a check of their range. */
#include "infer/element.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "util/half.h"
#include "util/number.h"

/* ---- Integers ---- */

static const struct {
    int64_t least;
    uint64_t most;
} ranges[] = {
    [RAYTRAIN_INT8] = {INT8_MIN, INT8_MAX},
    [RAYTRAIN_INT16] = {INT16_MIN, INT16_MAX},
    [RAYTRAIN_INT32] = {INT32_MIN, INT32_MAX},
    [RAYTRAIN_INT64] = {INT64_MIN, INT64_MAX},
    [RAYTRAIN_UINT8] = {0, UINT8_MAX},
    [RAYTRAIN_UINT16] = {0, UINT16_MAX},
    [RAYTRAIN_UINT32] = {0, UINT32_MAX},
    [RAYTRAIN_UINT64] = {0, UINT64_MAX},
    [RAYTRAIN_BYTES] = {0, UINT8_MAX},
};

/* A sign, digits with a point, and an exponent, whose value is a 64-bit integer. Exact,
 * unlike a double, which cannot distinguish 2^53 + 1 from 2^53. */
static bool integer_parse(const char *at, const char *end, uint64_t *value)
{
    bool negative = at < end && *at == '-', point = false;
    int64_t zeros = 0; /* at the end of the digits */
    int64_t shift = 0, exponent = 0;

    *value = 0;
    for (at += negative || *at == '+'; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.' && !point) {
            point = true;
            continue;
        }
        if (*at < '0' || *at > '9')
            return false;
        shift -= point;
        zeros++;
        if (*at == '0')
            continue;
        for (; zeros > 0; zeros--)
            if (__builtin_mul_overflow(*value, (uint64_t)10, value))
                return false;
        if (__builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    }
    if (*value == 0)
        return true;
    if (at < end && (number_int64(at + 1, end, &exponent) != end ||
                     exponent < -INT32_MAX || exponent > INT32_MAX))
        return false;
    shift += zeros + exponent;
    if (shift < 0)
        return false;
    for (; shift > 0; shift--)
        if (__builtin_mul_overflow(*value, (uint64_t)10, value))
            return false;
    if (negative && *value > UINT64_C(1) << 63)
        return false;
    *value = negative ? -*value : *value;
    return true;
}

static const char *integer_store(raytrain_dtype dtype, const char *at, const char *end,
                                 double x, void *to)
{
    uint64_t value;

    if (!integer_parse(at, end, &value))
        return x != floor(x) ? "cannot hold: it has integers only" : "cannot hold";
    if (x < 0 ? (int64_t)value < ranges[dtype].least : value > ranges[dtype].most)
        return "cannot hold";
    memcpy(to, &value, raytrain_dtype_size(dtype)); /* the low bytes are the first */
    return NULL;
}

/* ---- Floating point ---- */

static const char *real_store(raytrain_dtype dtype, double x, void *to)
{
    float f = (float)x, back;
    uint16_t half;

    if (dtype == RAYTRAIN_FLOAT64) {
        memcpy(to, &x, sizeof x);
        return NULL;
    }
    if (dtype == RAYTRAIN_FLOAT32) {
        memcpy(to, &f, sizeof f);
        return isfinite(x) && !isfinite(f) ? "does not reach" : NULL;
    }
    if (dtype == RAYTRAIN_FLOAT16) {
        float16_narrow(&half, &f, 1);
        float16_widen(&back, &half, 1);
    } else {
        bfloat16_narrow(&half, &f, 1);
        bfloat16_widen(&back, &half, 1);
    }
    memcpy(to, &half, sizeof half);
    return isfinite(x) && !isfinite(back) ? "does not reach" : NULL;
}

const char *element_store(raytrain_dtype dtype, const char *at, const char *end,
                          double x, void *to)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
    case RAYTRAIN_FLOAT64:
    case RAYTRAIN_FLOAT16:
    case RAYTRAIN_BFLOAT16:
        return real_store(dtype, x, to);
    default:
        return integer_store(dtype, at, end, x, to);
    }
}

/* ---- From one type to another ---- */

struct number {
    double x;
    bool is_exact;   /* x is the number, and */
    bool is_integer; /* its magnitude is */
    uint64_t magnitude;
};

#define AS(type, from)                                                                 \
    ({                                                                                 \
        type value_;                                                                   \
        memcpy(&value_, from, sizeof value_);                                          \
        value_;                                                                        \
    })

static struct number number_of_real(double x)
{
    struct number n = {.x = x, .is_exact = true};

    n.is_integer = x == floor(x) && fabs(x) < 0x1p64;
    n.magnitude = n.is_integer ? (uint64_t)fabs(x) : 0;
    return n;
}

static struct number number_of_unsigned(uint64_t value, bool is_negative)
{
    double x = (double)value;

    return (struct number){.x = is_negative ? -x : x,
                           .is_exact = x < 0x1p64 && (uint64_t)x == value,
                           .is_integer = true,
                           .magnitude = value};
}

static struct number number_of_integer(int64_t value)
{
    return number_of_unsigned(value < 0 ? -(uint64_t)value : (uint64_t)value,
                              value < 0);
}

static struct number number_of_half(raytrain_dtype dtype, const void *at)
{
    uint16_t half = AS(uint16_t, at);
    float f;

    if (dtype == RAYTRAIN_FLOAT16)
        float16_widen(&f, &half, 1);
    else
        bfloat16_widen(&f, &half, 1);
    return number_of_real((double)f);
}

static struct number number_load(raytrain_dtype dtype, const void *at)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        return number_of_real((double)AS(float, at));
    case RAYTRAIN_FLOAT64:
        return number_of_real(AS(double, at));
    case RAYTRAIN_FLOAT16:
    case RAYTRAIN_BFLOAT16:
        return number_of_half(dtype, at);
    case RAYTRAIN_INT8:
        return number_of_integer(AS(int8_t, at));
    case RAYTRAIN_INT16:
        return number_of_integer(AS(int16_t, at));
    case RAYTRAIN_INT32:
        return number_of_integer(AS(int32_t, at));
    case RAYTRAIN_INT64:
        return number_of_integer(AS(int64_t, at));
    case RAYTRAIN_UINT16:
        return number_of_unsigned(AS(uint16_t, at), false);
    case RAYTRAIN_UINT32:
        return number_of_unsigned(AS(uint32_t, at), false);
    case RAYTRAIN_UINT64:
        return number_of_unsigned(AS(uint64_t, at), false);
    default:
        return number_of_unsigned(AS(uint8_t, at), false);
    }
}

static bool is_real(raytrain_dtype dtype)
{
    return dtype == RAYTRAIN_FLOAT32 || dtype == RAYTRAIN_FLOAT64 ||
           dtype == RAYTRAIN_FLOAT16 || dtype == RAYTRAIN_BFLOAT16;
}

bool element_convert(raytrain_dtype from, const void *at, raytrain_dtype to, void *out)
{
    const struct number n = number_load(from, at);
    uint64_t bits = n.x < 0 ? -n.magnitude : n.magnitude;
    double back;

    if (is_real(to)) {
        real_store(to, n.x, out);
        back = number_load(to, out).x;
        return n.is_exact && (back == n.x || (isnan(back) && isnan(n.x)));
    }
    if (!n.is_integer ||
        (n.x < 0 ? ranges[to].least == 0 || n.magnitude > -(uint64_t)ranges[to].least
                 : n.magnitude > ranges[to].most))
        return false;
    memcpy(out, &bits, raytrain_dtype_size(to)); /* the low bytes are the first */
    return true;
}
