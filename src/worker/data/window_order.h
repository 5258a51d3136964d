/*
 * window_order.h - an order of the rows in an epoch for files that are slow to read row
 * by row: it divides the file into blocks of adjacent rows, and mixes the rows of a few
 * blocks, a window, at a time. The rows of a window are read once, and then released.
 *
 * The blocks are in the order of a keyed permutation (row_order.h); `window` adjacent
 * blocks of that order are a window, whose rows are shuffled
 * (Durstenfeld, CACM 1964; bounded numbers as by Lemire, TOMACS 2019). So two rows that
 * are far from each other in the file can be neighbours in the order, but a block's
 * rows stay within one window. The order is the same on every machine and for any
 * number of workers. It is part of what a checkpoint means, and never changes between
 * versions.
 */
#ifndef RAYTRAIN_DATA_WINDOW_ORDER_H
#define RAYTRAIN_DATA_WINDOW_ORDER_H

#include "table/row_order.h"
#include "util/error.h"

struct window_order {
    uint64_t n;      /* rows */
    uint64_t block;  /* rows of a block; the file's last block may have fewer */
    uint64_t window; /* blocks of a window; the order's last window may have fewer */
    struct shuffle blocks;
    uint64_t short_place; /* of the file's last block in the order of the blocks */
    uint64_t key;
};

/* The most rows of a window. */
#define WINDOW_ROWS_MAX ((uint64_t)1 << 28)

/* The window that contains a position of the order. */
struct window {
    uint64_t first, rows;   /* positions first..first+rows of the order */
    uint64_t place, blocks; /* its blocks' places in their order */
};

/* n > 0; block and window at least 1, and block * window at most WINDOW_ROWS_MAX. */
void window_order_init(struct window_order *o, uint64_t n, uint64_t block,
                       uint64_t window, uint64_t seed, uint64_t epoch);
/* i < n. */
void window_order_find(const struct window_order *o, uint64_t i, struct window *w);
/* The position at which the block at this place begins, place <= number of blocks. */
uint64_t window_order_begin(const struct window_order *o, uint64_t place);
/* The rows first..first+*rows of the file are the block at this place. */
void window_order_block(const struct window_order *o, uint64_t place, uint64_t *first,
                        uint64_t *rows);
/* at[j], j < w->rows, is the j-th row: a number among the window's rows in the order of
 * its blocks. */
void window_order_fill(const struct window_order *o, const struct window *w,
                       uint32_t *at);

#endif
