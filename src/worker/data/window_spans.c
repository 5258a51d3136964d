/*
 * window_spans.c - the spans in which a window reader (window_reader.h) has rows, and
 * the windows that are being read: which of their rows are this rank's.
 */
#include "data/window_reader_impl.h"

#include <stdlib.h>
#include <string.h>

#define SPAN_BYTES   ((uint64_t)64 * 1024) /* smaller batches share a span */
#define STREAM_BYTES ((uint64_t)4 << 20)   /* of a window that no cache should keep */

struct portion window_place_portion(const struct window_reader *r,
                                    const struct window_place *at)
{
    return position_portion(r->table->rows, at->position, at->batch, r->rank, r->size);
}

/* ---- Spans ---- */

uint64_t window_row_bytes(const struct window_reader *r)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < r->table->n_columns; i++)
        bytes += r->table->columns[i].row_bytes;
    return bytes;
}

void window_spans_measure(struct window_reader *r, uint64_t batch)
{
    uint64_t bytes = window_row_bytes(r), rows = r->table->rows;

    r->span_rows = batch < rows ? batch : rows;
    r->whole = r->lend && r->span_rows >= SPAN_BYTES / bytes;
    if (r->span_rows < SPAN_BYTES / bytes)
        r->span_rows *= SPAN_BYTES / bytes / r->span_rows;
}

/* Make room for all spans in either array. */
static int spans_reserve(struct window_reader *r, struct error *err)
{
    size_t room = r->room * 2 + 4;
    struct frame *spans, *pool;

    if (r->n_spans + r->n_pool < r->room)
        return 0;
    spans = reallocarray(r->spans, room, sizeof *spans);
    r->spans = spans ? spans : r->spans;
    pool = reallocarray(r->pool, room, sizeof *pool);
    r->pool = pool ? pool : r->pool;
    if (!spans || !pool)
        return error_no_memory(err);
    r->room = room;
    return 0;
}

/* Add a span without memory. */
static int span_add(struct window_reader *r, struct error *err)
{
    struct frame *f;

    if (spans_reserve(r, err) < 0)
        return -1;
    f = &r->spans[r->n_spans];
    if (r->n_pool > 0)
        *f = r->pool[--r->n_pool];
    else
        *f = (struct frame)FRAME_INIT;
    r->n_spans++;
    return frame_restore(f, &r->schema, err);
}

/* Make spans for the first n of this rank's rows. */
static int spans_extend(struct window_reader *r, uint64_t n, struct error *err)
{
    size_t before = r->n_spans;

    while (r->first_span + r->n_spans < (n + r->span_rows - 1) / r->span_rows)
        if (span_add(r, err) < 0)
            return -1;
    return frame_reserve_together(r->spans + before, r->n_spans - before, r->span_rows,
                                  err);
}

void window_span_remove(struct window_reader *r)
{
    r->pool[r->n_pool++] = r->spans[0];
    memmove(r->spans, r->spans + 1, --r->n_spans * sizeof *r->spans);
    r->first_span++;
}

unsigned char *window_row_place(const struct window_reader *r, size_t column,
                                uint64_t row)
{
    const struct frame *f = &r->spans[row / r->span_rows - r->first_span];

    return f->columns[column].data +
           row % r->span_rows * r->table->columns[column].row_bytes;
}

/* ---- Windows ---- */

static int span_slots_reserve(struct window_reader *r, uint64_t rows, struct error *err)
{
    if (rows > r->slots_room) {
        free(r->slots);
        r->slots = malloc(rows * sizeof *r->slots);
        r->slots_room = r->slots ? rows : 0;
    }
    if (!r->slots)
        return error_no_memory(err);
    memset(r->slots, 0xff, rows * sizeof *r->slots);
    return 0;
}

/* Give positions first..end of the window to this rank's rows from `row` on. */
static void span_slots_assign(struct window_reader *r, const struct epoch_order *o,
                              uint64_t first, uint64_t end, uint64_t row)
{
    const uint32_t *places = o->places - o->window.first;

    for (uint64_t i = first; i < end; i++)
        r->slots[places[i]] = (uint32_t)(row + (i - first) - r->base);
    r->assigned = row + (end - first);
}

static void window_assign(struct window_reader *r, const struct epoch_order *o)
{
    uint64_t begin = o->window.first, end = begin + o->window.rows;

    while (r->last.position < r->table->rows) {
        struct portion p = window_place_portion(r, &r->last);
        uint64_t first = p.first > begin ? p.first : begin;
        uint64_t stop = p.first + p.count < end ? p.first + p.count : end;

        if (first < stop)
            span_slots_assign(r, o, first, stop, r->last_row + (first - p.first));
        if (p.first + p.count > end)
            return;
        r->last.position = p.end;
        r->last_row += p.count;
    }
}

void window_epoch_look_ahead(struct window_reader *r)
{
    r->begin = (r->assigned + r->span_rows - 1) / r->span_rows * r->span_rows;
    r->assigned = r->last_row = r->begin;
    r->last = (struct window_place){0, r->next.batch};
    r->window_end = 0;
    r->ahead = true;
}

int window_open(struct window_reader *r, struct epoch_order *o, struct error *err)
{
    epoch_order_look(o, r->window_end);
    r->base = r->assigned;
    r->blocks_done = 0;
    if (span_slots_reserve(r, o->window.rows, err) < 0)
        return -1;
    window_assign(r, o);
    if (spans_extend(r, r->assigned, err) < 0)
        return -1;
    r->window = o->window;
    r->stream = (r->assigned - r->base) * window_row_bytes(r) >= STREAM_BYTES;
    r->window_end = o->window.first + o->window.rows;
    return 0;
}

void window_finish(struct window_reader *r)
{
    r->window.rows = 0;
    r->latest = r->base;
    r->complete = r->assigned;
}
