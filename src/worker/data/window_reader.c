/*
 * window_reader.c - see window_reader.h.
 *
 * Rows are copied from memory or from views of files (file_view.h), or else read with
 * preadv(2); both straight to their places.
 *
 * This rank's rows are numbered as they will be handed out since the last reset. They
 * lie in spans, frames of `span_rows` rows each: a span is one batch, which is then
 * handed out without being copied, or several small ones. `slots` says for each row of
 * the window that is being read which of this rank's rows it is.
 *
 * After the last window of an epoch comes the first one of the next: its rows are
 * numbered on, from the beginning of a span. So there are never more than two windows.
 *
 * Here are batches; window_spans.c has spans and windows, window_blocks.c blocks.
 */
#include "data/window_reader.h"

#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "data/file_view.h"
#include "data/window_reader_impl.h"
#include "util/memory.h"

#define VIEW_SHARE 4 /* of the available memory, that views may take */

bool window_reader_can(const struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (column_ragged(&t->columns[i]))
            return false;
    return true;
}

/* Sources that are files, if all of them together are small. */
static int views_create(struct window_reader *r, struct error *err)
{
    const struct table *t = r->table;
    uint64_t bytes = 0;

    r->views = calloc(t->n_sources + 1, sizeof *r->views);
    if (!r->views)
        return error_no_memory(err);
    for (size_t i = 0; i < t->n_sources; i++)
        bytes += t->sources[i].map ? 0 : t->sources[i].size;
    if (bytes > memory_available() / VIEW_SHARE)
        return 0;
    for (size_t i = 0; i < t->n_sources; i++)
        if (!t->sources[i].map)
            r->views[i] = file_view_create(t->sources[i].fd, t->sources[i].size);
    return 0;
}

static void views_destroy(struct window_reader *r)
{
    for (size_t i = 0; r->views && i < r->table->n_sources; i++)
        file_view_destroy(r->views[i]);
    free(r->views);
}

int window_reader_create(const struct table *t, int rank, int size, bool lend,
                         struct window_reader **out, struct error *err)
{
    struct window_reader *r = calloc(1, sizeof *r);

    if (!r)
        return error_no_memory(err);
    r->table = t;
    r->rank = rank;
    r->size = size;
    r->lend = lend;
    r->schema = (struct frame)FRAME_INIT;
    if (views_create(r, err) < 0 || batch_init(&r->schema, t, err) < 0) {
        window_reader_destroy(r);
        return -1;
    }
    *out = r;
    return 0;
}

void window_reader_reset(struct window_reader *r)
{
    while (r->n_spans > 0)
        r->pool[r->n_pool++] = r->spans[--r->n_spans];
    r->running = false;
}

void window_reader_destroy(struct window_reader *r)
{
    if (!r)
        return;
    window_reader_reset(r);
    while (r->n_pool > 0)
        frame_clear(&r->pool[--r->n_pool]);
    views_destroy(r);
    frame_clear(&r->schema);
    free(r->pool);
    free(r->spans);
    free(r->slots);
    free(r->piece);
    free(r);
}

static void reader_begin(struct window_reader *r, const struct window_place *at)
{
    struct portion p = window_place_portion(r, at);

    window_reader_reset(r);
    window_spans_measure(r, at->batch);
    r->next = r->last = *at;
    r->handed_out = r->complete = r->latest = r->last_row = r->assigned = 0;
    r->first_span = 0;
    r->window.rows = 0;
    r->ahead = false;
    r->window_end = p.first < r->table->rows ? p.first : r->table->rows;
    r->running = true;
}

/* Read this rank's rows up to `end`. */
static int rows_have(struct window_reader *r, struct epoch_order *o, uint64_t end,
                     struct error *err)
{
    while (r->complete < end) {
        if (r->window.rows == 0 && window_open(r, o, err) < 0)
            return -1;
        if (window_blocks_read(r, o, UINT64_MAX, err) < 0)
            return -1;
    }
    return 0;
}

/* Is there a window that may be read while the last complete one is handed out? */
static bool next_find(struct window_reader *r, const struct epoch_orders *orders)
{
    if (r->window.rows > 0)
        return true;
    if (r->handed_out < r->latest)
        return false;
    if (r->window_end < r->table->rows)
        return true;
    if (r->ahead || !orders->next)
        return false;
    window_epoch_look_ahead(r);
    return true;
}

/* Read enough of the next window for it to be complete when its rows are needed. One
 * without rows of this rank is skipped. */
static int next_advance(struct window_reader *r, const struct epoch_orders *orders,
                        uint64_t count, struct error *err)
{
    while (next_find(r, orders)) {
        struct epoch_order *o = r->ahead ? orders->next : orders->now;
        uint64_t batches = (r->complete - r->handed_out) / (count ? count : 1) + 1;
        uint64_t left;

        if (r->window.rows == 0 && window_open(r, o, err) < 0)
            return -1;
        left = r->window.blocks - r->blocks_done;
        if (window_blocks_read(r, o, (left + batches - 1) / batches, err) < 0)
            return -1;
        if (r->window.rows > 0 || r->assigned > r->base)
            break;
    }
    return 0;
}

static int rows_hand_out(struct window_reader *r, uint64_t count, uint64_t room,
                         struct frame *f, struct error *err)
{
    uint64_t at = r->handed_out % r->span_rows;

    if (count > 0 && r->whole) {
        struct frame taken = r->spans[0];

        r->spans[0] = *f;
        *f = taken;
    }
    for (size_t i = 0; i < f->n_columns; i++) {
        size_t bytes = r->table->columns[i].row_bytes;

        if (frame_reserve(&f->columns[i], room, 0, err) < 0)
            return -1;
        if (count > 0 && !r->whole)
            memcpy(f->columns[i].data, r->spans[0].columns[i].data + at * bytes,
                   count * bytes);
    }
    r->handed_out += count;
    if (r->n_spans > 0 && r->handed_out >= (r->first_span + 1) * r->span_rows)
        window_span_remove(r);
    return 0;
}

static int batch_take(struct window_reader *r, const struct epoch_orders *orders,
                      const struct window_place *at, uint64_t room, struct frame *f,
                      struct error *err)
{
    struct portion p = window_place_portion(r, at);

    if (rows_have(r, orders->now, r->handed_out + p.count, err) < 0 ||
        rows_hand_out(r, p.count, room, f, err) < 0)
        return -1;
    r->next.position = p.end;
    if (next_advance(r, orders, p.count, err) < 0)
        r->running = false; /* the batch that needs those rows meets the error again */
    return 0;
}

void window_reader_turn(struct window_reader *r)
{
    if (!r->running || !r->ahead) {
        window_reader_reset(r);
        return;
    }
    while (r->n_spans > 0 && r->first_span < r->begin / r->span_rows)
        window_span_remove(r);
    r->first_span = r->begin / r->span_rows;
    r->handed_out = r->begin;
    r->complete = r->complete > r->begin ? r->complete : r->begin;
    r->next = (struct window_place){0, r->next.batch};
    r->ahead = false;
}

int window_reader_read(struct window_reader *r, const struct epoch_orders *orders,
                       const struct window_place *at, uint64_t room, struct frame *f,
                       struct error *err)
{
    if (!r->running || at->position != r->next.position || at->batch != r->next.batch)
        reader_begin(r, at);
    if (batch_take(r, orders, at, room, f, err) == 0)
        return 0;
    r->running = false;
    return -1;
}
