/*
 * number.c - parse numbers. Up to 19 digits become an integer, eight at a time. Then,
 * in this order:
 *
 *   1. one multiplication or division, if both operands are exact as doubles (Clinger,
 * "How to read floating point numbers accurately", PLDI 1990);
 *
 *   2. a 128-bit product with a power of five, which nearly always decides (Lemire,
 * "Number parsing at a gigabyte per second", Software: Practice and Experience 51(8),
 * 2021);
 *
 *   3. strtod().
 */
#include "util/number.h"

#include <endian.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS_MAX 19 /* as many as always fit into 64 bits */

/* ---- Digits ---- */

#define BYTES(b) (UINT64_C(0x0101010101010101) * (b))

static const uint64_t ten_to[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
};

/* The value of eight bytes 0 to 9, the first one in the lowest bits. */
static inline uint64_t eight_value(uint64_t x)
{
    const uint64_t mask = UINT64_C(0x000000ff000000ff);

    x = x * 10 + (x >> 8); /* pairs, in bytes 0, 2, 4 and 6 */
    return ((x & mask) * (100 + (UINT64_C(1000000) << 32)) +
            (x >> 16 & mask) * (1 + (UINT64_C(10000) << 32))) >>
           32;
}

/* Append the digits at the beginning of at[0..end), at most eight, to *value. Returns
 * how many there are. The value is correct modulo 2^64. */
static inline unsigned digits_eight(const char *at, const char *end, uint64_t *value)
{
    uint64_t x = 0, others;
    unsigned n;

    if (end - at >= 8)
        memcpy(&x, at, 8);
    else
        memcpy(&x, at, (size_t)(end - at));
    x = le64toh(x) ^ BYTES('0');
    /* The top bit of a byte that is not 0 to 9. The addition may carry, but only into
     * bytes after the first such one. */
    others = ((x + BYTES(0x80 - 10)) | x) & BYTES(0x80);
    n = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    if (n > 0)
        *value = *value * ten_to[n] + eight_value(x << (64 - 8 * n));
    return n;
}

/* How many digits the eight bytes begin with, and the value of these if there are fewer
 * than eight. */
static inline unsigned digits_below_eight(const char *at, uint64_t *value)
{
    uint64_t x, others;
    unsigned bits;

    memcpy(&x, at, 8);
    x = le64toh(x) ^ BYTES('0');
    others = ((x + BYTES(0x80 - 10)) | x) & BYTES(0x80);
    if (!others)
        return 8;
    bits = (unsigned)__builtin_ctzll(others) & ~7u;
    *value = eight_value(x << (63 - bits) << 1);
    return bits / 8;
}

/* The same for any number of digits. */
static inline const char *any_digits(const char *at, const char *end, uint64_t *value)
{
    unsigned n;

    do {
        n = digits_eight(at, end, value);
        at += n;
    } while (n == 8);
    return at;
}

/* Without a branch, which would be mispredicted half of the time. */
static inline bool sign(const char **at, const char *end)
{
    char c = *at < end ? **at : '\0';

    *at += (c == '-') | (c == '+');
    return c == '-';
}

const char *number_int64(const char *at, const char *end, int64_t *value)
{
    const char *first = at, *last;
    bool minus = sign(&first, end);
    uint64_t x = 0;

    last = any_digits(first, end, &x);
    if (last == first)
        return at;
    if (last - first > DIGITS_MAX) {
        while (first < last - 1 && *first == '0')
            first++;
        if (last - first > DIGITS_MAX)
            return at;
    }
    if (x > (uint64_t)INT64_MAX + minus)
        return at;
    *value = (int64_t)(minus ? -x : x);
    return last;
}

/* ---- Powers of five ---- */

#define POWER_MIN (-342) /* of ten: below and above, the result is 0 or infinity */
#define POWER_MAX 308
#define WORDS     20 /* 2^(64 * 20 - 1) / 5^342 still has 128 bits */

/* The 128 highest bits of each power, truncated; rounded up if the power is the inverse
 * of an integer of less than 64 bits. The proof of the algorithm requires this. */
static struct power {
    uint64_t high, low;
} powers[POWER_MAX - POWER_MIN + 1];
static pthread_once_t powers_once = PTHREAD_ONCE_INIT;
static atomic_bool powers_made;

/* The top 128 bits of an integer whose lowest word is the first. */
static struct power top(const uint64_t words[WORDS])
{
    struct power p;
    int n = WORDS, shift;

    while (words[n - 1] == 0)
        n--;
    shift = __builtin_clzll(words[n - 1]);
    p.high = words[n - 1] << shift;
    p.low = n > 1 ? words[n - 2] << shift : 0;
    if (shift > 0 && n > 1)
        p.high |= words[n - 2] >> (64 - shift);
    if (shift > 0 && n > 2)
        p.low |= words[n - 3] >> (64 - shift);
    return p;
}

static void powers_make(void)
{
    uint64_t up[WORDS] = {1}, down[WORDS] = {0};
    unsigned __int128 x;

    down[WORDS - 1] = UINT64_C(1) << 63;
    for (int q = 0; q <= POWER_MAX; q++) {
        powers[q - POWER_MIN] = top(up);
        x = 0;
        for (int i = 0; i < WORDS; i++) {
            x = (x >> 64) + (unsigned __int128)up[i] * 5;
            up[i] = (uint64_t)x;
        }
    }
    for (int q = -1; q >= POWER_MIN; q--) {
        uint64_t rest = 0;

        for (int i = WORDS - 1; i >= 0; i--) {
            x = (unsigned __int128)rest << 64 | down[i];
            down[i] = (uint64_t)(x / 5);
            rest = (uint64_t)(x % 5);
        }
        powers[q - POWER_MIN] = top(down);
        if (q >= -27 && ++powers[q - POWER_MIN].low == 0)
            powers[q - POWER_MIN].high++;
    }
    atomic_store_explicit(&powers_made, true, memory_order_release);
}

/* ---- w x 10^q ---- */

static double from_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static double with_sign(double x, bool minus)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return from_bits(bits ^ (uint64_t)minus << 63);
}

/* w x 5^q, w with its highest bit set: the upper 128 bits of the product, with enough
 * accuracy for the 55 bits that are needed. */
static struct power product(uint64_t w, int q)
{
    const struct power *five = &powers[q - POWER_MIN];
    unsigned __int128 first = (unsigned __int128)w * five->high;

    if ((uint64_t)(first >> 64 & 0x1ff) == 0x1ff)
        first += (uint64_t)((unsigned __int128)w * five->low >> 64);
    return (struct power){(uint64_t)(first >> 64), (uint64_t)first};
}

/* The mantissa has 54 bits; the last one is for rounding. */
static double subnormal(uint64_t mantissa, int exponent)
{
    if (exponent <= -63)
        return 0;
    mantissa >>= 1 - exponent;
    mantissa += mantissa & 1;
    /* If it is rounded up to 2^52, its bits are those of the smallest normal number. */
    return from_bits(mantissa >> 1);
}

/* False: not decided. w > 0 */
static bool scaled(uint64_t w, int64_t ten, double *value)
{
    int zeros = __builtin_clzll(w), q, upper, exponent;
    struct power z;
    uint64_t mantissa;

    if (ten < POWER_MIN || ten > POWER_MAX) {
        *value = ten < 0 ? 0 : HUGE_VAL;
        return true;
    }
    q = (int)ten;
    if (!atomic_load_explicit(&powers_made, memory_order_acquire))
        pthread_once(&powers_once, powers_make);
    z = product(w << zeros, q);
    if (z.low == UINT64_MAX && (q < -27 || q > 55))
        return false;
    upper = (int)(z.high >> 63);
    mantissa = z.high >> (upper + 9);
    exponent = (((152170 + 65536) * q) >> 16) + 63 + upper - zeros + 1023;
    if (exponent <= 0) {
        *value = subnormal(mantissa, exponent);
        return true;
    }
    /* Exactly between two doubles, which is possible if 5^q is short enough: to
     * even. */
    if (z.low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 &&
        mantissa << (upper + 9) == z.high)
        mantissa &= ~UINT64_C(1);
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        exponent++;
    }
    *value =
        exponent >= 0x7ff
            ? HUGE_VAL
            : from_bits((mantissa & ~(UINT64_C(1) << 52)) | (uint64_t)exponent << 52);
    return true;
}

/* ---- Floating point ---- */

/* A number without its sign: the digits of at[0..end), which may contain a point, times
 * ten to the power `exponent`. */
struct decimal {
    const char *at, *end;
    int64_t exponent; /* of the last digit */
    uint64_t w;       /* of all digits */
    ptrdiff_t n;      /* digits */
};

/* Neither a double nor the middle between two doubles has more significant digits. */
#define EXACT_DIGITS 800

/* By strtod(), with a text without a point, which is the same in every locale. Digits
 * that do not fit only matter if one of them is not zero: then they are replaced by one
 * digit. */
static double by_strtod(const struct decimal *d)
{
    char text[EXACT_DIGITS + 64];
    const char *at = d->at;
    int64_t exponent = d->exponent;
    size_t n = 0;
    bool more = false;

    for (; at < d->end; at++) {
        if (*at == '.' || (*at == '0' && n == 0))
            continue;
        if (n < EXACT_DIGITS) {
            text[n++] = *at;
            continue;
        }
        more |= *at != '0';
        exponent++;
    }
    if (more) {
        text[n++] = '1';
        exponent--;
    }
    snprintf(text + n, sizeof text - n, "e%lld", (long long)exponent);
    return strtod(text, NULL);
}

/* More than 19 digits: drop leading zeros, then the digits after the 19th. */
static double with_many_digits(struct decimal *d)
{
    int64_t ten = d->exponent;
    uint64_t w = 0;
    double x, above;
    ptrdiff_t left = d->n;
    int n = 0;

    for (const char *at = d->at; at < d->end && n < DIGITS_MAX; at++) {
        if (*at == '.')
            continue;
        left--;
        w = w * 10 + (uint64_t)(*at - '0');
        n += w > 0;
    }
    if (w == 0)
        return 0;
    ten += left;
    if (scaled(w, ten, &x) && (left == 0 || (scaled(w + 1, ten, &above) && x == above)))
        return x;
    return by_strtod(d);
}

static inline double nearest(struct decimal *d)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double x;

    if (d->n > DIGITS_MAX)
        return with_many_digits(d);
    if (d->w >> 53 == 0 && d->exponent >= -22 && d->exponent <= 22)
        return d->exponent < 0 ? (double)d->w / exact[-d->exponent]
                               : (double)d->w * exact[d->exponent];
    if (d->w == 0)
        return 0;
    return scaled(d->w, d->exponent, &x) ? x : by_strtod(d);
}

/* Add an exponent such as "e-5". An incomplete one is not part of the number. */
static const char *exponent_add(const char *at, const char *end, int64_t *exponent)
{
    const char *first = at + 1, *last;
    bool minus = sign(&first, end);
    int64_t e = 0;

    for (last = first; last < end && *last >= '0' && *last <= '9'; last++) {
        if (e < INT64_MAX / 100)
            e = e * 10 + (*last - '0');
    }
    if (last == first)
        return at;
    *exponent += minus ? -e : e;
    return last;
}

static const char *word(const char *at, const char *end, double *value)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};

    if (at == end || ((*at | 0x20) != 'i' && (*at | 0x20) != 'n'))
        return at;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text);

        if ((size_t)(end - at) >= n && strncasecmp(at, words[i].text, n) == 0) {
            *value = words[i].value;
            return at + n;
        }
    }
    return at;
}

static const char *long_float64(const char *at, const char *end, double *value)
{
    struct decimal d = {.at = at};
    bool minus = sign(&d.at, end);
    const char *point;
    double x;

    point = d.end = any_digits(d.at, end, &d.w);
    d.n = d.end - d.at;
    if (point < end && *point == '.') {
        d.end = any_digits(point + 1, end, &d.w);
        d.exponent = -(d.end - point - 1);
        d.n -= d.exponent;
    }
    if (d.n > 0) {
        const char *last = d.end;

        if (last < end && (*last == 'e' || *last == 'E'))
            last = exponent_add(last, end, &d.exponent);
        x = nearest(&d);
        *value = with_sign(x, minus);
        return last;
    }
    d.end = word(d.at, end, &x);
    if (d.end == d.at)
        return at;
    *value = with_sign(x, minus);
    return d.end;
}

#define SHORT_BYTES 17 /* a sign, seven digits, a point, and eight bytes */

/* A number with at most seven digits before the point and after it, and without an
 * exponent; NULL for others. SHORT_BYTES bytes must be readable. */
static inline const char *short_float64(const char *at, double *value)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    bool minus = *at == '-';
    uint64_t whole, fraction;
    unsigned n, m = 0;

    at += minus;
    n = digits_below_eight(at, &whole);
    if (n - 1 > 6) /* none, or eight */
        return NULL;
    at += n;
    if (*at == '.') {
        m = digits_below_eight(at + 1, &fraction);
        if (m == 8)
            return NULL;
        at += 1 + m;
        whole = whole * ten_to[m] + fraction;
    }
    if ((*at | 0x20) == 'e')
        return NULL;
    *value = with_sign((double)(int64_t)whole / tens[m], minus);
    return at;
}

const char *number_float64(const char *at, const char *end, double *value)
{
    const char *short_end = end - at >= SHORT_BYTES ? short_float64(at, value) : NULL;

    return short_end ? short_end : long_float64(at, end, value);
}
