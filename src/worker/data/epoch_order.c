/*
 * epoch_order.c - chooses between the orders of table/row_order.c and window_order.c,
 * and keeps the window that was used last.
 */
#include "data/epoch_order.h"

#include <stdlib.h>

bool order_kind_possible(const struct order_kind *k, uint64_t n)
{
    uint64_t rows;

    if (k->block == 0 || k->window == 0)
        return k->window == 0 && k->block <= 1;
    return n > 0 && !__builtin_mul_overflow(k->block, k->window, &rows) &&
           rows <= WINDOW_ROWS_MAX;
}

static int places_reserve(struct epoch_order *o, struct error *err)
{
    uint64_t rows = o->kind.block * o->kind.window;

    rows = rows < o->n ? rows : o->n;
    if (rows <= o->room)
        return 0;
    free(o->places);
    o->places = malloc(rows * sizeof *o->places);
    o->room = o->places ? rows : 0;
    return o->places ? 0 : error_no_memory(err);
}

int epoch_order_set(struct epoch_order *o, uint64_t n, const struct order_kind *kind,
                    uint64_t seed, uint64_t epoch, struct error *err)
{
    o->n = n;
    o->kind = *kind;
    o->window = (struct window){.rows = 0};
    if (epoch_order_windowed(o)) {
        window_order_init(&o->windows, n, kind->block, kind->window, seed, epoch);
        return places_reserve(o, err);
    }
    if (kind->block)
        shuffle_init(&o->all, n, seed, epoch);
    else
        shuffle_init_identity(&o->all, n);
    return 0;
}

void epoch_order_clear(struct epoch_order *o)
{
    free(o->places);
    *o = (struct epoch_order)EPOCH_ORDER_INIT;
}

void epoch_order_look(struct epoch_order *o, uint64_t i)
{
    if (i - o->window.first < o->window.rows)
        return;
    window_order_find(&o->windows, i, &o->window);
    window_order_fill(&o->windows, &o->window, o->places);
}

/* The k-th row of the window, in the order of its blocks. All blocks are full except
 * one, after which the others begin earlier. */
static uint64_t window_row(const struct epoch_order *o, uint64_t k)
{
    const struct window_order *w = &o->windows;
    uint64_t position = o->window.first + k,
             missing = w->block - 1 - (w->n - 1) % w->block;
    uint64_t place = o->window.place + k / w->block, first, rows;

    if (w->short_place >= o->window.place &&
        position >= window_order_begin(w, w->short_place) + w->block - missing)
        place = o->window.place + (k + missing) / w->block;
    window_order_block(w, place, &first, &rows);
    return first + position - window_order_begin(w, place);
}

uint64_t epoch_order_row(struct epoch_order *o, uint64_t i)
{
    if (!epoch_order_windowed(o))
        return shuffle_row(&o->all, i);
    epoch_order_look(o, i);
    return window_row(o, o->places[i - o->window.first]);
}
