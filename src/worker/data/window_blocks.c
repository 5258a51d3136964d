/*
 * window_blocks.c - how a window reader (window_reader.h) reads the blocks of a
 * window, or copies them from memory: each row to its place in a span.
 */
#include "data/window_reader_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "data/file_view.h"
#include "data/stream_copy.h"
#include "table/column_read.h"

#define PIECE_BYTES   ((uint64_t)256 * 1024) /* of a block, read at once */
#define SCATTER_BYTES 512                    /* smaller rows are read together */
#define SCATTER_ROWS  256
#define NOT_OURS      UINT32_MAX

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
        return error_no_memory(err);
    }
    for (; n > 0; n -= k, row += k, slots += k) {
        k = n < at_once ? n : at_once;
        if (column_read(r->table, c, row, k, r->piece, err) < 0)
            return -1;
        for (uint64_t i = 0; i < k; i++)
            if (slots[i] != NOT_OURS)
                memcpy(window_row_place(r, column, r->base + slots[i]),
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

static void window_rows_copy(void *arg, const unsigned char *bytes)
{
    const struct taking *t = arg;
    const struct window_reader *r = t->reader;
    size_t width = r->table->columns[t->column].row_bytes;
    bool stream = r->stream && width >= SCATTER_BYTES;

    for (uint64_t i = 0; i < t->n; i++, bytes += width) {
        unsigned char *place;

        if (t->slots[i] == NOT_OURS)
            continue;
        place = window_row_place(r, t->column, r->base + t->slots[i]);
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
        window_rows_copy(&t, s->map + offset);
    else
        return r->views[e->source] && file_view_use(r->views[e->source], offset,
                                                    n * bytes, window_rows_copy, &t);
    return true;
}

/* Rows row..row+n of a column, each by itself. */
static int window_column_read(struct window_reader *r, size_t column, uint64_t row,
                              uint64_t n, const uint32_t *slots, struct error *err)
{
    const struct column *c = &r->table->columns[column];

    for (uint64_t i = 0; i < n; i++)
        if (slots[i] != NOT_OURS &&
            column_read(r->table, c, row + i, 1,
                        window_row_place(r, column, r->base + slots[i]), err) < 0)
            return -1;
    return 0;
}

/* Prepare one call of preadv(2) for as many of n rows as it can read, from a row of
 * this rank to another one; returns their number, or 0. Rows of other ranks between
 * them are read into the gap. */
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
            (struct iovec){window_row_place(r, column, r->base + slots[i]), bytes};
        taken = i + 1;
    }
    return taken;
}

/* Rows row..row+n of a column, all in this extent, straight to their places. What
 * preadv() does not read at once, to the end of the file or an error, is read row by
 * row. */
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
            window_column_read(r, column, row + k, taken, slots + k, err) < 0)
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
static int window_block_read(struct window_reader *r, uint64_t first, uint64_t n,
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

/* The i-th block of the window for this rank. In groups of as many neighbouring blocks
 * as there are ranks, each rank begins with another one. */
static uint64_t block_turn(const struct window_reader *r, uint64_t i)
{
    uint64_t size = (uint64_t)r->size, begin = i - i % size;
    uint64_t n = r->window.blocks - begin < size ? r->window.blocks - begin : size;

    return begin + (i + (uint64_t)r->rank) % n;
}

int window_blocks_read(struct window_reader *r, const struct epoch_order *o, uint64_t n,
                       struct error *err)
{
    const struct window_order *w = &o->windows;
    for (; n > 0 && r->blocks_done < r->window.blocks; n--, r->blocks_done++) {
        uint64_t place = r->window.place + block_turn(r, r->blocks_done);
        uint64_t first, rows;

        window_order_block(w, place, &first, &rows);
        if (window_block_read(
                r, first, rows,
                r->slots + (window_order_begin(w, place) - r->window.first), err) < 0)
            return -1;
    }
    if (r->blocks_done == r->window.blocks)
        window_finish(r);
    return 0;
}
