/*
 * combine_vectors.h - sums and means over vectors: a template, which combine.c includes
 * once for each element type and width of a vector. It takes
 *
 *   TYPE, BITS     the element, and the signed integer that is as large
 *   QUIET_NAN      the bits of the only NaN that is ever a result
 *   TARGET, BYTES  the processor's attribute, and how wide its vectors are
 *   NAME(f)        the name of function f
 */
typedef TYPE NAME(vector) __attribute__((vector_size(BYTES)));
typedef BITS NAME(mask) __attribute__((vector_size(BYTES)));

#define WIDTH (BYTES / sizeof(TYPE))

/* How far ahead the other rank's elements are prefetched: they come from its cache. */
#define AHEAD (4096 / sizeof(TYPE))

/* If a sum is NaN, it is always QUIET_NaN: hardware returns the NaN of one operand,
 * which depends on their order. */
TARGET static inline void NAME(add)(NAME(vector) * sum, const TYPE *a, const TYPE *b)
{
    NAME(vector) x, y;
    NAME(mask) good;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    x += y;
    good = (NAME(mask))(x == x);
    *sum = (NAME(vector))(((NAME(mask))x & good) | (~good & (BITS)QUIET_NAN));
}

TARGET static inline TYPE NAME(add_one)(TYPE a, TYPE b)
{
    return isnan(a + b) ? (TYPE)NAN : a + b;
}

TARGET static void NAME(sum)(void *restrict into, const void *restrict from, size_t n)
{
    TYPE *to = into;
    const TYPE *of = from;
    NAME(vector) v;
    size_t i = 0;

    for (; i + WIDTH <= n; i += WIDTH) {
        NAME(add)(&v, to + i, of + i);
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < n; i++)
        to[i] = NAME(add_one)(to[i], of[i]);
}

TARGET static void NAME(mean)(void *data, size_t n, int ranks)
{
    TYPE *x = data, by = 1 / (TYPE)ranks;
    NAME(vector) v;
    size_t i = 0;

    for (; i + WIDTH <= n; i += WIDTH) {
        memcpy(&v, x + i, sizeof v);
        v *= by;
        memcpy(x + i, &v, sizeof v);
    }
    for (; i < n; i++)
        x[i] *= by;
}

TARGET static void NAME(mean_close)(void *restrict a, void *restrict b, size_t n,
                                    int ranks)
{
    TYPE *x = a, *y = b, by = 1 / (TYPE)ranks;
    NAME(vector) v;
    size_t i = 0;

    for (; i + WIDTH <= n; i += WIDTH) {
        __builtin_prefetch(y + i + AHEAD); /* may lie past the end, which is harmless */
        NAME(add)(&v, x + i, y + i);
        v *= by;
        memcpy(x + i, &v, sizeof v);
        memcpy(y + i, &v, sizeof v);
    }
    for (; i < n; i++)
        x[i] = y[i] = NAME(add_one)(x[i], y[i]) * by;
}

#undef WIDTH
#undef AHEAD
#undef NAME
