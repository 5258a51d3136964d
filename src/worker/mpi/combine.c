/*
 * combine.c - the table of reductions, by type and operation. Gradients are summed, and
 * are large, so sums use vectors (combine_vectors.h): compiled once for the width that
 * every 64-bit processor has, and once for the width of this one (a vector wider than
 * the processor's would be split, at ten times the cost). The resulting bits are the
 * same.
 */
#include "mpi/combine.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#define WIDE       __attribute__((target("avx2")))
#define WIDE_BYTES 32
static bool wide_runs(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define WIDE
#define WIDE_BYTES 16
static bool wide_runs(void)
{
    return false;
}
#endif

#define TYPE      float
#define BITS      int32_t
#define QUIET_NAN 0x7fc00000

#define TARGET
#define BYTES   16
#define NAME(f) float_##f
#include "mpi/combine_vectors.h"
#undef TARGET
#undef BYTES

#define TARGET  WIDE
#define BYTES   WIDE_BYTES
#define NAME(f) float_wide_##f
#include "mpi/combine_vectors.h"
#undef TARGET
#undef BYTES

#undef TYPE
#undef BITS
#undef QUIET_NAN
#define TYPE      double
#define BITS      int64_t
#define QUIET_NAN 0x7ff8000000000000

#define TARGET
#define BYTES   16
#define NAME(f) double_##f
#include "mpi/combine_vectors.h"
#undef TARGET
#undef BYTES

#define TARGET  WIDE
#define BYTES   WIDE_BYTES
#define NAME(f) double_wide_##f
#include "mpi/combine_vectors.h"

/* Sums wrap around, as those of unsigned integers do. */
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

/* The minimum or the maximum; -0 is less than +0. The result is NaN only if both are
 * NaN. */
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

struct functions {
    reduce_function combine;
    finish_function finish;
    close_function close;
};
static const struct reduction {
    enum comm_type type;
    enum comm_op op;
    struct functions plain, wide; /* wide: empty if plain will do */
} reductions[] = {
    {COMM_FLOAT32, COMM_SUM, {float_sum, NULL, NULL}, {float_wide_sum, NULL, NULL}},
    {COMM_FLOAT32, COMM_MIN, {float_min, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_FLOAT32, COMM_MAX, {float_max, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_FLOAT32,
     COMM_MEAN,
     {float_sum, float_mean, float_mean_close},
     {float_wide_sum, float_wide_mean, float_wide_mean_close}},
    {COMM_FLOAT64, COMM_SUM, {double_sum, NULL, NULL}, {double_wide_sum, NULL, NULL}},
    {COMM_FLOAT64, COMM_MIN, {double_min, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_FLOAT64, COMM_MAX, {double_max, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_FLOAT64,
     COMM_MEAN,
     {double_sum, double_mean, double_mean_close},
     {double_wide_sum, double_wide_mean, double_wide_mean_close}},
    {COMM_INT64, COMM_SUM, {int64_sum, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_INT64, COMM_MIN, {int64_min, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_INT64, COMM_MAX, {int64_max, NULL, NULL}, {NULL, NULL, NULL}},
    {COMM_STAT, COMM_SUM, {stat_merge, NULL, NULL}, {NULL, NULL, NULL}},
};

int reduction_kind_find(enum comm_type type, enum comm_op op,
                        struct reduction_kind *kind, struct error *err)
{
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
        const struct reduction *r = &reductions[i];
        const struct functions *f =
            r->wide.combine && wide_runs() ? &r->wide : &r->plain;

        if (r->type != type || r->op != op)
            continue;
        *kind = (struct reduction_kind){comm_type_size(type), f->combine, f->finish,
                                        f->close};
        return 0;
    }
    return error_set(err, RAYTRAIN_EINVAL, "operation %d is not available for type %d",
                     op, type);
}
