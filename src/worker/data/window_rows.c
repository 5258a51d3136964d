/*
 * window_rows.c - see window_rows.h.
 *
 * This rank's rows are numbered as they will be handed out since they were read. They
 * lie in `rows` in the order of the blocks, in which they were read; `places` says
 * where. If not all rows of a batch are there, reading starts again at that batch: the
 * rest of the window before, less than a batch, is read once more.
 */
#include "data/window_rows.h"

#include <stdlib.h>
#include <string.h>

#include "table/near_rows.h"
#include "table/ragged_read.h"

#define NOT_OURS UINT32_MAX

struct window_rows {
    const struct table *table;
    int rank, size;
    struct frame rows;
    uint32_t *places;
    uint64_t *numbers; /* of the rows in the columns, in the order of `rows` */
    uint64_t n, room;
    uint32_t *slots; /* for each row of a window: which of ours it is */
    uint64_t slots_room;
    uint64_t position, batch; /* the batch that comes next; batch 0: none */
    uint64_t handed_out;
};

int window_rows_create(const struct table *t, int rank, int size,
                       struct window_rows **out, struct error *err)
{
    struct window_rows *w = calloc(1, sizeof *w);

    if (!w)
        return error_no_memory(err);
    *w = (struct window_rows){.table = t, .rank = rank, .size = size};
    if (batch_init(&w->rows, t, err) < 0) {
        free(w);
        return -1;
    }
    *out = w;
    return 0;
}

void window_rows_destroy(struct window_rows *w)
{
    if (!w)
        return;
    frame_clear(&w->rows);
    free(w->places);
    free(w->numbers);
    free(w->slots);
    free(w);
}

void window_rows_reset(struct window_rows *w)
{
    w->batch = 0;
}

/* ---- Which rows ---- */

static int row_slots_reserve(struct window_rows *w, uint64_t rows, struct error *err)
{
    if (rows > w->slots_room) {
        free(w->slots);
        w->slots = malloc(rows * sizeof *w->slots);
        w->slots_room = w->slots ? rows : 0;
    }
    if (!w->slots)
        return error_no_memory(err);
    memset(w->slots, 0xff, rows * sizeof *w->slots);
    return 0;
}

/* Room for `more` rows. */
static int window_rows_reserve(struct window_rows *w, uint64_t more, struct error *err)
{
    uint64_t room = w->n + more;
    uint32_t *places;
    uint64_t *numbers;

    if (room <= w->room)
        return 0;
    places = reallocarray(w->places, room, sizeof *places);
    w->places = places ? places : w->places;
    numbers = reallocarray(w->numbers, room, sizeof *numbers);
    w->numbers = numbers ? numbers : w->numbers;
    if (!places || !numbers)
        return error_no_memory(err);
    w->room = room;
    return 0;
}

/* Assign slots to this rank's rows of o->window, from the batch at *position on. Moves
 * *position to the first batch that is not all in the window; returns the number of
 * rows. */
static uint64_t row_slots_assign(struct window_rows *w, const struct epoch_order *o,
                                 uint64_t *position, uint64_t batch)
{
    uint64_t begin = o->window.first, end = begin + o->window.rows, n = 0;

    while (*position < w->table->rows) {
        struct portion p =
            position_portion(w->table->rows, *position, batch, w->rank, w->size);
        uint64_t first = p.first > begin ? p.first : begin;
        uint64_t stop = p.first + p.count < end ? p.first + p.count : end;

        for (; first < stop; first++)
            w->slots[o->places[first - begin]] = (uint32_t)(w->n + n++);
        if (p.first + p.count > end)
            break;
        *position = p.end;
    }
    return n;
}

/* Set the numbers of the rows that have slots, block by block. */
static void numbers_set(struct window_rows *w, const struct epoch_order *o)
{
    const uint32_t *slot = w->slots;

    for (uint64_t b = 0; b < o->window.blocks; b++) {
        uint64_t first, rows;

        window_order_block(&o->windows, o->window.place + b, &first, &rows);
        for (uint64_t i = 0; i < rows; i++, slot++)
            if (*slot != NOT_OURS) {
                w->numbers[w->n] = table_row(w->table, first + i);
                w->places[*slot] = (uint32_t)w->n++;
            }
    }
}

/* Find all windows that have the rows p of a batch. */
static int rows_find(struct window_rows *w, struct epoch_order *o,
                     const struct portion *p, struct error *err)
{
    uint64_t position = w->position, at = p->first;

    w->n = 0;
    while (at < p->first + p->count) {
        uint64_t n;

        epoch_order_look(o, at);
        if (row_slots_reserve(w, o->window.rows, err) < 0)
            return -1;
        n = row_slots_assign(w, o, &position, w->batch);
        if (window_rows_reserve(w, n, err) < 0)
            return -1;
        numbers_set(w, o);
        at = o->window.first + o->window.rows;
    }
    return 0;
}

/* ---- Their elements ---- */

static int window_columns_read(struct window_rows *w, struct error *err)
{
    const struct table *t = w->table;

    for (size_t k = 0; k < t->n_columns; k++) {
        const struct column *c = &t->columns[k];
        struct frame_column *to = &w->rows.columns[k];

        if (column_ragged(c)) {
            if (ragged_read(to, t, c, w->numbers, w->n, err) < 0)
                return -1;
        } else if (frame_reserve(to, w->n, 0, err) < 0 ||
                   near_rows_read(t, c, w->numbers, w->n, to->data, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int ragged_take(const struct frame_column *from, const uint32_t *places,
                       uint64_t n, struct frame_column *to, struct error *err)
{
    size_t width = frame_element_bytes(from);
    uint64_t all = 0;

    for (uint64_t i = 0; i < n; i++)
        all += from->offsets[places[i] + 1] - from->offsets[places[i]];
    if (frame_reserve(to, n, all, err) < 0)
        return -1;
    to->offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t first = from->offsets[places[i]], at = to->offsets[i];
        uint64_t count = from->offsets[places[i] + 1] - first;

        memcpy(to->data + at * width, from->data + first * width, count * width);
        if (from->indices)
            memcpy(to->indices + at, from->indices + first,
                   count * sizeof *to->indices);
        to->offsets[i + 1] = at + count;
    }
    to->n_data = all;
    return 0;
}

static int window_rows_take(struct window_rows *w, uint64_t n, struct frame *f,
                            struct error *err)
{
    const uint32_t *places = w->places + w->handed_out;

    for (size_t k = 0; k < f->n_columns; k++) {
        const struct frame_column *from = &w->rows.columns[k];
        struct frame_column *to = &f->columns[k];
        size_t bytes = w->table->columns[k].row_bytes;

        if (column_ragged(&w->table->columns[k])) {
            if (ragged_take(from, places, n, to, err) < 0)
                return -1;
            continue;
        }
        if (frame_reserve(to, n, 0, err) < 0)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            memcpy(to->data + i * bytes, from->data + places[i] * bytes, bytes);
    }
    f->rows = n;
    return 0;
}

int window_rows_read(struct window_rows *w, struct epoch_order *order,
                     uint64_t position, uint64_t batch, struct frame *f,
                     struct error *err)
{
    struct portion p =
        position_portion(w->table->rows, position, batch, w->rank, w->size);

    if (w->batch != batch || w->position != position ||
        w->n - w->handed_out < p.count) {
        w->batch = batch;
        w->position = position;
        w->handed_out = 0;
        if (rows_find(w, order, &p, err) < 0 || window_columns_read(w, err) < 0) {
            window_rows_reset(w);
            return -1;
        }
    }
    if (window_rows_take(w, p.count, f, err) < 0) {
        window_rows_reset(w);
        return -1;
    }
    w->handed_out += p.count;
    w->position = p.end;
    return 0;
}
