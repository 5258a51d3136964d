/*
 * row_order.c - see row_order.h: the order of an epoch, then the ranks' shares of it.
 */
#include "table/row_order.h"

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static uint64_t bits_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/*
 * Bits of the largest index. A network of few bits has too few functions to choose
 * from: with 8 or more, all orders of a handful of rows are equally likely.
 */
static unsigned index_bits(uint64_t n)
{
    unsigned bits = 8;

    while (bits < 64 && (n - 1) >> bits)
        bits++;
    return bits;
}

void shuffle_init(struct shuffle *s, uint64_t n, uint64_t seed, uint64_t epoch)
{
    unsigned bits = index_bits(n ? n : 1);
    uint64_t state = bits_mix(bits_mix(seed + GOLDEN_GAMMA) ^ epoch);

    s->n = n;
    s->identity = false;
    s->low_bits = bits / 2;
    s->low_mask = (UINT64_C(1) << s->low_bits) - 1;
    s->high_mask = (UINT64_C(1) << (bits - s->low_bits)) - 1;
    for (int r = 0; r < SHUFFLE_ROUNDS; r++)
        s->keys[r] = bits_mix(state += GOLDEN_GAMMA);
}

void shuffle_init_identity(struct shuffle *s, uint64_t n)
{
    *s = (struct shuffle){.n = n, .identity = true};
}

/* Each half in turn is combined with a function of the other: a bijection for any keys.
 * The upper bits of a mixed word are the best. */
static uint64_t index_encipher(const struct shuffle *s, uint64_t i)
{
    uint64_t low = i & s->low_mask, high = i >> s->low_bits;

    for (int r = 0; r < SHUFFLE_ROUNDS; r += 2) {
        high ^= (bits_mix(low ^ s->keys[r]) >> 32) & s->high_mask;
        low ^= (bits_mix(high ^ s->keys[r + 1]) >> 32) & s->low_mask;
    }
    return high << s->low_bits | low;
}

/* The domain is smaller than twice n, so this takes fewer than two steps on average (at
 * most 256/n for the smallest n); it ends because the cycle that contains i leads back
 * to i. */
uint64_t shuffle_row(const struct shuffle *s, uint64_t i)
{
    if (s->identity)
        return i;
    do
        i = index_encipher(s, i);
    while (i >= s->n);
    return i;
}

struct portion position_portion(uint64_t rows, uint64_t position, uint64_t batch,
                                int rank, int size)
{
    uint64_t left = rows - position, n = (uint64_t)size, r = (uint64_t)rank;
    uint64_t share = left / n, extra = left % n;
    struct portion p;

    if (share >= batch) { /* batch * size fits: it is at most left */
        p.first = position + r * batch;
        p.count = batch;
        p.end = position + n * batch;
    } else {
        p.first = position + r * share + (r < extra ? r : extra);
        p.count = share + (r < extra);
        p.end = rows;
    }
    return p;
}
