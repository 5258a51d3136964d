/*
 * window_order.c - computes which blocks each window has, and the order of rows in it.
 * window_reader.c and window_rows.c read rows.
 */
#include "data/window_order.h"

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += GOLDEN_GAMMA;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in 0..bound-1, bound > 0. */
static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    uint64_t product = (random_next(state) >> 32) * bound;

    if ((uint32_t)product < bound) {
        uint32_t least = -bound % bound;

        while ((uint32_t)product < least)
            product = (random_next(state) >> 32) * bound;
    }
    return (uint32_t)(product >> 32);
}

static uint64_t n_blocks(const struct window_order *o)
{
    return (o->n - 1) / o->block + 1;
}

/* The place of the file's last block, the only one that may not be full, in the order
 * of the blocks. Searched once per epoch. */
static uint64_t last_place(const struct window_order *o)
{
    uint64_t last = n_blocks(o) - 1, place = 0;

    while (shuffle_row(&o->blocks, place) != last)
        place++;
    return place;
}

void window_order_init(struct window_order *o, uint64_t n, uint64_t block,
                       uint64_t window, uint64_t seed, uint64_t epoch)
{
    uint64_t state = seed ^ GOLDEN_GAMMA;

    o->n = n;
    o->block = block;
    o->window = window;
    o->key = random_next(&state) ^ epoch;
    shuffle_init(&o->blocks, n_blocks(o), seed, epoch);
    o->short_place = last_place(o);
}

uint64_t window_order_begin(const struct window_order *o, uint64_t place)
{
    if (place > o->short_place)
        return (place - 1) * o->block + (o->n - 1) % o->block + 1;
    return place * o->block;
}

/* Without the short block, windows would begin at multiples of their rows. So the
 * estimate is never too late, and at most one window too early. */
void window_order_find(const struct window_order *o, uint64_t i, struct window *w)
{
    uint64_t blocks = n_blocks(o), place = i / o->block / o->window * o->window, end;

    for (;; place += o->window) {
        w->blocks = blocks - place < o->window ? blocks - place : o->window;
        end = window_order_begin(o, place + w->blocks);
        if (i < end)
            break;
    }
    w->place = place;
    w->first = window_order_begin(o, place);
    w->rows = end - w->first;
}

void window_order_block(const struct window_order *o, uint64_t place, uint64_t *first,
                        uint64_t *rows)
{
    *first = shuffle_row(&o->blocks, place) * o->block;
    *rows = o->n - *first < o->block ? o->n - *first : o->block;
}

void window_order_fill(const struct window_order *o, const struct window *w,
                       uint32_t *at)
{
    uint64_t state = o->key + w->place * UINT64_C(0xd1342543de82ef95);

    state = random_next(&state);
    for (uint32_t j = 0; j < w->rows; j++) {
        uint32_t other = random_below(&state, j + 1);

        at[j] = at[other];
        at[other] = j;
    }
}
