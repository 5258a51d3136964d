/* reals.c - converts the types of columns to double and back, in blocks. */
#include "preprocess/reals.h"

#include <math.h>
#include <string.h>

#include "util/half.h"

size_t reals_width(const struct frame_column *c)
{
    size_t n = 1;

    for (int i = 0; i < c->row.ndim; i++)
        n *= (size_t)c->row.shape[i];
    return n;
}

bool reals_is_float(raytrain_dtype dtype)
{
    return dtype == RAYTRAIN_FLOAT32 || dtype == RAYTRAIN_FLOAT64 ||
           dtype == RAYTRAIN_FLOAT16 || dtype == RAYTRAIN_BFLOAT16;
}

raytrain_dtype reals_result(raytrain_dtype dtype)
{
    return reals_is_float(dtype) && dtype != RAYTRAIN_FLOAT64 ? RAYTRAIN_FLOAT32
                                                              : RAYTRAIN_FLOAT64;
}

#define WIDEN(type)                                                                    \
    do {                                                                               \
        const type *restrict from = (const type *)(const void *)c->data + first;       \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] = (double)from[i];                                                   \
    } while (0)

static void load_half(const struct frame_column *c, size_t first, size_t n, double *to)
{
    const uint16_t *from = (const uint16_t *)(const void *)c->data + first;
    float wide[REALS_BLOCK];

    if (c->row.dtype == RAYTRAIN_FLOAT16)
        float16_widen(wide, from, n);
    else
        bfloat16_widen(wide, from, n);
    for (size_t i = 0; i < n; i++)
        to[i] = (double)wide[i];
}

void reals_load(const struct frame_column *c, size_t first, size_t n,
                double *restrict to)
{
    switch (c->row.dtype) {
    case RAYTRAIN_FLOAT32:
        WIDEN(float);
        break;
    case RAYTRAIN_FLOAT64:
        memcpy(to, (const double *)(const void *)c->data + first, n * sizeof *to);
        break;
    case RAYTRAIN_FLOAT16:
    case RAYTRAIN_BFLOAT16:
        load_half(c, first, n, to);
        break;
    case RAYTRAIN_INT8:
        WIDEN(int8_t);
        break;
    case RAYTRAIN_INT16:
        WIDEN(int16_t);
        break;
    case RAYTRAIN_INT32:
        WIDEN(int32_t);
        break;
    case RAYTRAIN_INT64:
        WIDEN(int64_t);
        break;
    case RAYTRAIN_UINT8:
    case RAYTRAIN_BYTES:
        WIDEN(uint8_t);
        break;
    case RAYTRAIN_UINT16:
        WIDEN(uint16_t);
        break;
    case RAYTRAIN_UINT32:
        WIDEN(uint32_t);
        break;
    case RAYTRAIN_UINT64:
        WIDEN(uint64_t);
        break;
    }
}

#define NARROW(type)                                                                   \
    do {                                                                               \
        type *restrict at = (type *)(void *)c->data + first;                           \
        for (size_t i = 0; i < n; i++)                                                 \
            at[i] = isnan(from[i]) ? -1 : (type)from[i];                               \
    } while (0)

void reals_store(struct frame_column *c, size_t first, size_t n,
                 const double *restrict from)
{
    float *restrict to;

    switch (c->row.dtype) {
    case RAYTRAIN_FLOAT64:
        memcpy((double *)(void *)c->data + first, from, n * sizeof *from);
        break;
    case RAYTRAIN_INT32:
        NARROW(int32_t);
        break;
    case RAYTRAIN_INT64:
        NARROW(int64_t);
        break;
    default:
        to = (float *)(void *)c->data + first;
        for (size_t i = 0; i < n; i++)
            to[i] = (float)from[i];
    }
}

int reals_check(const char *what, const struct frame_column *c, struct error *err)
{
    if (c->kind == FRAME_NUMBERS && c->row.dtype != RAYTRAIN_BYTES)
        return 0;
    return error_set(err, RAYTRAIN_ETYPE,
                     "%s: column \"%s\" does not consist of numbers%s", what, c->name,
                     c->kind == FRAME_WORDS || c->kind == FRAME_WORD_LISTS
                         ? "; encode its words first, by ordinal_encoder or "
                           "one_hot_encoder"
                         : "");
}

static int64_t integer_at(const struct frame_column *c, size_t at)
{
    const void *data = c->data;

    switch (c->row.dtype) {
    case RAYTRAIN_INT8:
        return ((const int8_t *)data)[at];
    case RAYTRAIN_INT16:
        return ((const int16_t *)data)[at];
    case RAYTRAIN_INT32:
        return ((const int32_t *)data)[at];
    case RAYTRAIN_UINT8:
    case RAYTRAIN_BYTES:
        return ((const uint8_t *)data)[at];
    case RAYTRAIN_UINT16:
        return ((const uint16_t *)data)[at];
    case RAYTRAIN_UINT32:
        return ((const uint32_t *)data)[at];
    default:
        return ((const int64_t *)data)[at];
    }
}

uint64_t reals_key(double x)
{
    uint64_t bits;

    x = x == 0 ? 0 : x; /* -0 */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

void reals_keys(const struct frame_column *c, size_t first, size_t n, bool as_reals,
                uint64_t *keys, bool *missing)
{
    double x[REALS_BLOCK];

    if (!as_reals) {
        for (size_t i = 0; i < n; i++) {
            keys[i] = (uint64_t)integer_at(c, first + i);
            missing[i] = false;
        }
        return;
    }
    reals_load(c, first, n, x);
    for (size_t i = 0; i < n; i++) {
        missing[i] = isnan(x[i]);
        keys[i] = reals_key(x[i]);
    }
}
