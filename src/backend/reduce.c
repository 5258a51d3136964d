/*
 * reduce.c - see reduce.h. Gradients are sums, and large: those run over vectors as
 * wide as every 64-bit processor has them (wider ones would be taken apart, at ten
 * times the cost).
 */
#include "backend/reduce.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VECTOR_BYTES 16

/* A sum that is NaN is always the same NaN: hardware hands on one operand's, and which
 * one depends on the order. */
#define DEFINE_SUM(name, ctype, itype, quiet_nan)                                      \
    static void name(void *restrict into, const void *restrict from, size_t n)         \
    {                                                                                  \
        typedef ctype vector __attribute__((vector_size(VECTOR_BYTES)));               \
        typedef itype mask __attribute__((vector_size(VECTOR_BYTES)));                 \
        enum { WIDTH = VECTOR_BYTES / sizeof(ctype) };                                 \
        ctype *to = into;                                                              \
        const ctype *of = from;                                                        \
        size_t i = 0;                                                                  \
                                                                                       \
        for (; i + WIDTH <= n; i += WIDTH) {                                           \
            vector a, b;                                                               \
            mask good;                                                                 \
                                                                                       \
            memcpy(&a, to + i, sizeof a);                                              \
            memcpy(&b, of + i, sizeof b);                                              \
            a += b;                                                                    \
            good = (mask)(a == a);                                                     \
            a = (vector)(((mask)a & good) | (~good & (itype)(quiet_nan)));             \
            memcpy(to + i, &a, sizeof a);                                              \
        }                                                                              \
        for (; i < n; i++) {                                                           \
            to[i] += of[i];                                                            \
            if (isnan(to[i]))                                                          \
                to[i] = (ctype)NAN;                                                    \
        }                                                                              \
    }

DEFINE_SUM(float_sum, float, int32_t, 0x7fc00000)
DEFINE_SUM(double_sum, double, int64_t, 0x7ff8000000000000)

/* Sums wrap around, as unsigned ones do. */
static void int64_sum(void *restrict into, const void *restrict from, size_t n)
{
    uint64_t *to = into;
    const uint64_t *of = from;

    for (size_t i = 0; i < n; i++)
        to[i] += of[i];
}

static void int64_min(void *restrict into, const void *restrict from, size_t n)
{
    int64_t *to = into;
    const int64_t *of = from;

    for (size_t i = 0; i < n; i++)
        to[i] = of[i] < to[i] ? of[i] : to[i];
}

static void int64_max(void *restrict into, const void *restrict from, size_t n)
{
    int64_t *to = into;
    const int64_t *of = from;

    for (size_t i = 0; i < n; i++)
        to[i] = of[i] > to[i] ? of[i] : to[i];
}

/* The lesser or the greater; -0 is less than +0; a NaN counts only beside another. */
static double extreme_of(double a, double b, bool greater)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) ? a : !isnan(b) ? b : (double)NAN;
    if (a == b)
        return !signbit(a) == greater ? a : b;
    return (a > b) == greater ? a : b;
}

#define DEFINE_EXTREME(name, ctype, greater)                                           \
    static void name(void *restrict into, const void *restrict from, size_t n)         \
    {                                                                                  \
        ctype *to = into;                                                              \
        const ctype *of = from;                                                        \
                                                                                       \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] = (ctype)extreme_of(to[i], of[i], greater);                          \
    }

DEFINE_EXTREME(float_min, float, false)
DEFINE_EXTREME(float_max, float, true)
DEFINE_EXTREME(double_min, double, false)
DEFINE_EXTREME(double_max, double, true)

static void stat_merge(void *restrict into, const void *restrict from, size_t n)
{
    struct comm_stat *to = into;
    const struct comm_stat *of = from;

    for (size_t i = 0; i < n; i++) {
        double_sum(&to[i].sum, &of[i].sum, 1);
        double_min(&to[i].min, &of[i].min, 1);
        double_max(&to[i].max, &of[i].max, 1);
    }
}

#define DEFINE_MEAN(name, ctype)                                                       \
    static void name(void *data, size_t n, int ranks)                                  \
    {                                                                                  \
        typedef ctype vector __attribute__((vector_size(VECTOR_BYTES)));               \
        enum { WIDTH = VECTOR_BYTES / sizeof(ctype) };                                 \
        ctype *x = data, by = 1 / (ctype)ranks;                                        \
        size_t i = 0;                                                                  \
                                                                                       \
        for (; i + WIDTH <= n; i += WIDTH) {                                           \
            vector v;                                                                  \
                                                                                       \
            memcpy(&v, x + i, sizeof v);                                               \
            v *= by;                                                                   \
            memcpy(x + i, &v, sizeof v);                                               \
        }                                                                              \
        for (; i < n; i++)                                                             \
            x[i] *= by;                                                                \
    }

DEFINE_MEAN(float_mean, float)
DEFINE_MEAN(double_mean, double)

static const struct {
    enum comm_type type;
    enum comm_op op;
    reduce_function combine;
    finish_function finish;
} reductions[] = {
    {COMM_FLOAT32, COMM_SUM, float_sum, NULL},
    {COMM_FLOAT32, COMM_MIN, float_min, NULL},
    {COMM_FLOAT32, COMM_MAX, float_max, NULL},
    {COMM_FLOAT32, COMM_MEAN, float_sum, float_mean},
    {COMM_FLOAT64, COMM_SUM, double_sum, NULL},
    {COMM_FLOAT64, COMM_MIN, double_min, NULL},
    {COMM_FLOAT64, COMM_MAX, double_max, NULL},
    {COMM_FLOAT64, COMM_MEAN, double_sum, double_mean},
    {COMM_INT64, COMM_SUM, int64_sum, NULL},
    {COMM_INT64, COMM_MIN, int64_min, NULL},
    {COMM_INT64, COMM_MAX, int64_max, NULL},
    {COMM_STAT, COMM_SUM, stat_merge, NULL},
};

int reduction_kind_find(enum comm_type type, enum comm_op op,
                        struct reduction_kind *kind, struct error *err)
{
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (reductions[i].type == type && reductions[i].op == op) {
            *kind = (struct reduction_kind){comm_type_size(type), reductions[i].combine,
                                            reductions[i].finish};
            return 0;
        }
    return error_set(err, RAYTRAIN_EINVAL, "operation %d is not available for type %d",
                     op, type);
}
