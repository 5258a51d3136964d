/*
 * window_reader.c - see window_reader.h.
 *
 * Rows are copied from memory, of which views are a kind (file_view.h), or else read with
 * preadv(2); both straight to their places.
 *
 * This rank's rows are numbered as they will be handed out since the last reset. They lie
 * in spans, frames of `span_rows` rows each: a span is one batch, which is then handed out
 * without being copied, or several small ones. `slots` says for each row of the window that
 * is being read which of this rank's rows it is.
 *
 * After the last window of an epoch comes the first one of the next: its rows are numbered
 * on, from the beginning of a span. So there are never more than two windows.
 *
 * Sections: spans; windows; blocks; batches.
 */
#include "data/window_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "data/batch.h"
#include "data/file_view.h"
#include "data/stream_copy.h"
#include "table/column_read.h"
#include "util/memory.h"

#define SPAN_BYTES    ((uint64_t)64 * 1024)  /* smaller batches share a span */
#define PIECE_BYTES   ((uint64_t)256 * 1024) /* of a block, read at once */
#define SCATTER_BYTES 512                    /* smaller rows are read together */
#define SCATTER_ROWS  256
#define GAP_BYTES     4096 /* rows of others that are read rather than skipped */
#define STREAM_BYTES  ((uint64_t)4 << 20) /* of a window that no cache should keep */
#define VIEW_SHARE    4 /* of the available memory, that views may take */
#define NOT_OURS      UINT32_MAX

struct window_reader {
    const struct table *table;
    int rank, size;
    bool lend;
    struct file_view **views; /* by source; NULL: there is none of it */
    struct frame schema;
    bool running; /* there was a batch since the last reset */

    uint64_t span_rows;
    struct frame *spans; /* numbers first_span.. */
    size_t n_spans, room;
    uint64_t first_span;
    struct frame *pool; /* spans that are not in use; room for `room` */
    size_t n_pool;
    bool whole; /* a span is a batch */

    struct window_place next; /* the batch that comes next */
    uint64_t handed_out;      /* of this rank's rows */
    uint64_t complete;        /* rows that have been read, */
    uint64_t latest;          /* and the first of those in the last complete window */

    struct window_place last; /* the first batch that is not all in open windows */
    uint64_t last_row;        /* its first row, of this rank's */
    uint64_t assigned;        /* this rank's rows in open windows */

    struct window window; /* rows == 0: none is being read */
    uint64_t window_end;  /* the position after all windows that were opened */
    uint64_t base;        /* this rank's first row in it */
    uint64_t blocks_done;
    bool stream;    /* its rows are not used before long */
    bool ahead;     /* the windows that are opened now are those of the next epoch, */
    uint64_t begin; /* whose rows are this rank's from this one on */
    uint32_t *slots;
    uint64_t slots_room;
    unsigned char *piece;
    uint64_t piece_room;
    unsigned char gap[GAP_BYTES];
};

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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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

static struct portion place_portion(const struct window_reader *r,
                                    const struct window_place *at)
{
    return position_portion(r->table->rows, at->position, at->batch, r->rank, r->size);
}

/* ---- Spans ---- */

/* Of a row of all columns. */
static uint64_t row_bytes(const struct window_reader *r)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < r->table->n_columns; i++)
        bytes += r->table->columns[i].row_bytes;
    return bytes;
}

static void spans_measure(struct window_reader *r, uint64_t batch)
{
    uint64_t bytes = row_bytes(r), rows = r->table->rows;

    r->span_rows = batch < rows ? batch : rows;
    r->whole = r->lend && r->span_rows >= SPAN_BYTES / bytes;
    if (r->span_rows < SPAN_BYTES / bytes)
        r->span_rows *= SPAN_BYTES / bytes / r->span_rows;
}

/* All spans have room in either array. */
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    r->room = room;
    return 0;
}

/* Without memory. */
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

/* There are spans for the first n of this rank's rows. */
static int spans_extend(struct window_reader *r, uint64_t n, struct error *err)
{
    size_t before = r->n_spans;

    while (r->first_span + r->n_spans < (n + r->span_rows - 1) / r->span_rows)
        if (span_add(r, err) < 0)
            return -1;
    return frame_reserve_together(r->spans + before, r->n_spans - before, r->span_rows,
                                  err);
}

static void span_remove(struct window_reader *r)
{
    r->pool[r->n_pool++] = r->spans[0];
    memmove(r->spans, r->spans + 1, --r->n_spans * sizeof *r->spans);
    r->first_span++;
}

/* The place of one of this rank's rows. */
static unsigned char *row_place(const struct window_reader *r, size_t column,
                                uint64_t row)
{
    const struct frame *f = &r->spans[row / r->span_rows - r->first_span];

    return f->columns[column].data +
           row % r->span_rows * r->table->columns[column].row_bytes;
}

/* ---- Windows ---- */

static int slots_reserve(struct window_reader *r, uint64_t rows, struct error *err)
{
    if (rows > r->slots_room) {
        free(r->slots);
        r->slots = malloc(rows * sizeof *r->slots);
        r->slots_room = r->slots ? rows : 0;
    }
    if (!r->slots)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    memset(r->slots, 0xff, rows * sizeof *r->slots);
    return 0;
}

/* Positions first..end of the window are this rank's rows from `row` on. */
static void slots_assign(struct window_reader *r, const struct epoch_order *o,
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
        struct portion p = place_portion(r, &r->last);
        uint64_t first = p.first > begin ? p.first : begin;
        uint64_t stop = p.first + p.count < end ? p.first + p.count : end;

        if (first < stop)
            slots_assign(r, o, first, stop, r->last_row + (first - p.first));
        if (p.first + p.count > end)
            return;
        r->last.position = p.end;
        r->last_row += p.count;
    }
}

/* The windows that come next are those of the next epoch. */
static void epoch_look_ahead(struct window_reader *r)
{
    r->begin = (r->assigned + r->span_rows - 1) / r->span_rows * r->span_rows;
    r->assigned = r->last_row = r->begin;
    r->last = (struct window_place){0, r->next.batch};
    r->window_end = 0;
    r->ahead = true;
}

/* The window that comes next, or that has the first row after a reset. */
static int window_open(struct window_reader *r, struct epoch_order *o,
                       struct error *err)
{
    epoch_order_look(o, r->window_end);
    r->base = r->assigned;
    r->blocks_done = 0;
    if (slots_reserve(r, o->window.rows, err) < 0)
        return -1;
    window_assign(r, o);
    if (spans_extend(r, r->assigned, err) < 0)
        return -1;
    r->window = o->window;
    r->stream = (r->assigned - r->base) * row_bytes(r) >= STREAM_BYTES;
    r->window_end = o->window.first + o->window.rows;
    return 0;
}

static void window_finish(struct window_reader *r)
{
    r->window.rows = 0;
    r->latest = r->base;
    r->complete = r->assigned;
}

/* ---- Blocks ---- */

/* Rows row..row+n of a column, through memory of our own. */
static int rows_copy(struct window_reader *r, size_t column, uint64_t row, uint64_t n,
                     const uint32_t *slots, struct error *err)
{
    const struct column *c = &r->table->columns[column];
    uint64_t at_once = c->row_bytes < PIECE_BYTES ? PIECE_BYTES / c->row_bytes : 1, k;

    if (r->piece_room < at_once * c->row_bytes) {
        free(r->piece);
        r->piece_room = at_once * c->row_bytes;
        r->piece = malloc(r->piece_room);
    }
    if (!r->piece) {
        r->piece_room = 0;
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    for (; n > 0; n -= k, row += k, slots += k) {
        k = n < at_once ? n : at_once;
        if (column_read(r->table, c, row, k, r->piece, err) < 0)
            return -1;
        for (uint64_t i = 0; i < k; i++)
            if (slots[i] != NOT_OURS)
                memcpy(row_place(r, column, r->base + slots[i]),
                       r->piece + i * c->row_bytes, c->row_bytes);
    }
    return 0;
}

/* Rows of a column that are in memory, or in that of a view. */
struct taking {
    struct window_reader *reader;
    size_t column;
    uint64_t n;
    const uint32_t *slots;
};

static void rows_take(void *arg, const unsigned char *bytes)
{
    const struct taking *t = arg;
    const struct window_reader *r = t->reader;
    size_t width = r->table->columns[t->column].row_bytes;
    bool stream = r->stream && width >= SCATTER_BYTES;

    for (uint64_t i = 0; i < t->n; i++, bytes += width) {
        unsigned char *place;

        if (t->slots[i] == NOT_OURS)
            continue;
        place = row_place(r, t->column, r->base + t->slots[i]);
        if (stream)
            stream_copy(place, bytes, width);
        else
            memcpy(place, bytes, width);
    }
    if (stream)
        stream_end();
}

/* Rows row..row+n of a column, all in this extent, if they can be taken from memory. */
static bool rows_taken(struct window_reader *r, size_t column, const struct extent *e,
                       uint64_t row, uint64_t n, const uint32_t *slots)
{
    const struct source *s = &r->table->sources[e->source];
    size_t bytes = r->table->columns[column].row_bytes;
    struct taking t = {.reader = r, .column = column, .n = n, .slots = slots};
    uint64_t offset = e->offset + (row - e->first) * bytes;

    if (s->map)
        rows_take(&t, s->map + offset);
    else
        return r->views[e->source] &&
               file_view_use(r->views[e->source], offset, n * bytes, rows_take, &t);
    return true;
}

/* Rows row..row+n of a column, each by itself. */
static int rows_read(struct window_reader *r, size_t column, uint64_t row, uint64_t n,
                     const uint32_t *slots, struct error *err)
{
    const struct column *c = &r->table->columns[column];

    for (uint64_t i = 0; i < n; i++)
        if (slots[i] != NOT_OURS &&
            column_read(r->table, c, row + i, 1,
                        row_place(r, column, r->base + slots[i]), err) < 0)
            return -1;
    return 0;
}

/* As many of n rows as go into one call of preadv(2), from one of ours to one of ours:
 * their number, or 0. The rows of others in between are read into the gap. */
static uint64_t vector_fill(struct window_reader *r, size_t column, uint64_t n,
                            const uint32_t *slots, struct iovec *v, int *n_vectors)
{
    size_t bytes = r->table->columns[column].row_bytes;
    uint64_t gap = 0, taken = 0;

    *n_vectors = 0;
    for (uint64_t i = 0; i < n && *n_vectors < SCATTER_ROWS; i++) {
        if (slots[i] == NOT_OURS) {
            if (++gap * bytes > GAP_BYTES)
                break;
            continue;
        }
        if (gap > 0)
            v[(*n_vectors)++] = (struct iovec){r->gap, gap * bytes};
        gap = 0;
        v[(*n_vectors)++] =
            (struct iovec){row_place(r, column, r->base + slots[i]), bytes};
        taken = i + 1;
    }
    return taken;
}

/* Rows row..row+n of a column, all in this extent, straight to their places. What preadv()
 * does not read at once, to the end of the file or an error, is read row by row. */
static int rows_scatter(struct window_reader *r, size_t column, const struct extent *e,
                        uint64_t row, uint64_t n, const uint32_t *slots,
                        struct error *err)
{
    const struct source *s = &r->table->sources[e->source];
    size_t bytes = r->table->columns[column].row_bytes;
    struct iovec v[SCATTER_ROWS + 1];
    int n_vectors;

    for (uint64_t k = 0; k < n;) {
        uint64_t taken;

        if (slots[k] == NOT_OURS) {
            k++;
            continue;
        }
        taken = vector_fill(r, column, n - k, slots + k, v, &n_vectors);
        if (preadv(s->fd, v, n_vectors,
                   (off_t)(e->offset + (row + k - e->first) * bytes)) !=
                (ssize_t)(taken * bytes) &&
            rows_read(r, column, row + k, taken, slots + k, err) < 0)
            return -1;
        k += taken;
    }
    return 0;
}

/* Adjacent rows of a column, extent by extent. */
static int rows_place(struct window_reader *r, size_t column, uint64_t row, uint64_t n,
                      const uint32_t *slots, struct error *err)
{
    const struct table *t = r->table;
    const struct column *c = &t->columns[column];
    uint64_t k;
    int rc = 0;

    for (; n > 0 && rc == 0; n -= k, row += k, slots += k) {
        const struct extent *e = table_extent(t, c, row);
        bool plain = !e->packing && !e->stride && !e->swapped;

        k = e->first + e->rows - row < n ? e->first + e->rows - row : n;
        if (plain && rows_taken(r, column, e, row, k, slots))
            rc = 0;
        else if (plain && c->row_bytes >= SCATTER_BYTES)
            rc = rows_scatter(r, column, e, row, k, slots, err);
        else
            rc = rows_copy(r, column, row, k, slots, err);
    }
    return rc;
}

static bool any_ours(const uint32_t *slots, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (slots[i] != NOT_OURS)
            return true;
    return false;
}

/* Rows first..first+n of the table, which lie in runs in the columns. */
static int block_read(struct window_reader *r, uint64_t first, uint64_t n,
                      const uint32_t *slots, struct error *err)
{
    const struct table *t = r->table;
    uint64_t run;

    if (!any_ours(slots, n))
        return 0;
    for (uint64_t i = 0; i < n; i += run) {
        uint64_t row = table_row(t, first + i);

        for (run = 1; i + run < n && table_row(t, first + i + run) == row + run; run++)
            continue;
        for (size_t k = 0; k < t->n_columns; k++)
            if (rows_place(r, k, row, run, slots + i, err) < 0)
                return -1;
    }
    return 0;
}

/* The i-th block of the window for this rank. Ranks take as many neighbours as they are in
 * turns, each beginning with another one. */
static uint64_t block_turn(const struct window_reader *r, uint64_t i)
{
    uint64_t size = (uint64_t)r->size, begin = i - i % size;
    uint64_t n = r->window.blocks - begin < size ? r->window.blocks - begin : size;

    return begin + (i + (uint64_t)r->rank) % n;
}

/* Read up to n more blocks of the open window. */
static int blocks_read(struct window_reader *r, const struct epoch_order *o, uint64_t n,
                       struct error *err)
{
    const struct window_order *w = &o->windows;
    for (; n > 0 && r->blocks_done < r->window.blocks; n--, r->blocks_done++) {
        uint64_t place = r->window.place + block_turn(r, r->blocks_done);
        uint64_t first, rows;

        window_order_block(w, place, &first, &rows);
        if (block_read(r, first, rows,
                       r->slots + (window_order_begin(w, place) - r->window.first),
                       err) < 0)
            return -1;
    }
    if (r->blocks_done == r->window.blocks)
        window_finish(r);
    return 0;
}

/* ---- Batches ---- */

static void reader_begin(struct window_reader *r, const struct window_place *at)
{
    struct portion p = place_portion(r, at);

    window_reader_reset(r);
    spans_measure(r, at->batch);
    r->next = r->last = *at;
    r->handed_out = r->complete = r->latest = r->last_row = r->assigned = 0;
    r->first_span = 0;
    r->window.rows = 0;
    r->ahead = false;
    r->window_end = p.first < r->table->rows ? p.first : r->table->rows;
    r->running = true;
}

/* Have this rank's rows up to `end`. */
static int rows_have(struct window_reader *r, struct epoch_order *o, uint64_t end,
                     struct error *err)
{
    while (r->complete < end) {
        if (r->window.rows == 0 && window_open(r, o, err) < 0)
            return -1;
        if (blocks_read(r, o, UINT64_MAX, err) < 0)
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
    epoch_look_ahead(r);
    return true;
}

/* Read so much of the next window that it is complete when its rows are needed. One that
 * has no row for this rank is passed over. */
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
        if (blocks_read(r, o, (left + batches - 1) / batches, err) < 0)
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
        span_remove(r);
    return 0;
}

static int batch_take(struct window_reader *r, const struct epoch_orders *orders,
                      const struct window_place *at, uint64_t room, struct frame *f,
                      struct error *err)
{
    struct portion p = place_portion(r, at);

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
        span_remove(r);
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
