/*
 * epoch_order.h - the order of the rows in an epoch: not shuffled, all rows mixed with
 * each other (row_order.h), or mixed in windows (window_order.h). It depends only on
 * the number of rows, the kind of order, the seed and the epoch.
 */
#ifndef RAYTRAIN_DATA_EPOCH_ORDER_H
#define RAYTRAIN_DATA_EPOCH_ORDER_H

#include "data/window_order.h"

struct order_kind {
    uint64_t block;  /* rows of a block; 0: the rows are not shuffled */
    uint64_t window; /* blocks whose rows are mixed with each other; 0: all rows are */
};

/* One thread at a time. */
struct epoch_order {
    uint64_t n;
    struct order_kind kind;
    struct shuffle all; /* without windows, and all rows in one if not shuffled */
    struct window_order windows;
    struct window window; /* the one of `places`; rows == 0: none */
    uint32_t *places;     /* of window_order_fill(); owned */
    uint64_t room;        /* rows of `places` */
};

#define EPOCH_ORDER_INIT                                                               \
    {                                                                                  \
        .n = 0                                                                         \
    }

/* True if this can be an order of n rows, to check numbers from files. */
bool order_kind_possible(const struct order_kind *kind, uint64_t n);

/* The order is initialized, or was used for another epoch. n > 0, a possible kind.
 * RAYTRAIN_ENOMEM: four bytes for each row of a window. */
int epoch_order_set(struct epoch_order *o, uint64_t n, const struct order_kind *kind,
                    uint64_t seed, uint64_t epoch, struct error *err);
void epoch_order_clear(struct epoch_order *o);

/* With windows: makes o->window the one that contains position i < n, with its
 * places. */
void epoch_order_look(struct epoch_order *o, uint64_t i);

/* The i-th row, i < n. */
uint64_t epoch_order_row(struct epoch_order *o, uint64_t i);

static inline bool epoch_order_windowed(const struct epoch_order *o)
{
    return o->kind.window > 0;
}

#endif
