/* element.c - see element.h. */
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

/* Digits of more than int64 has; or a point, or an exponent, and still an integer, which
 * is exact as a double. */
static bool integer_other(const char *at, const char *end, double x, uint64_t *value)
{
    *value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    if (at == end)
        return true;
    if (x != floor(x) || !(fabs(x) <= 0x1p53))
        return false;
    *value = (uint64_t)(int64_t)x;
    return true;
}

static const char *integer_store(raytrain_dtype dtype, const char *at, const char *end,
                                 double x, void *to)
{
    int64_t value64;
    uint64_t value;

    if (number_int64(at, end, &value64) == end)
        value = (uint64_t)value64;
    else if (!integer_other(at, end, x, &value))
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
