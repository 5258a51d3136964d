/*
 * batch.c - reads batches row by row, adjacent rows at once, through
 * table/column_read.c and ragged_read.c. window_reader.c and window_rows.c read orders
 * with windows.
 */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

#include "table/column_read.h"
#include "table/ragged_read.h"

int batch_init(struct frame *f, const struct table *t, struct error *err)
{
    *f = (struct frame)FRAME_INIT;
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct column *c = &t->columns[i];
        struct frame_column like = {.kind = c->kind, .row = c->row, .words = c->words};
        size_t index;

        memcpy(like.name, c->name, sizeof like.name);
        if (frame_append(f, &like, &index, err) < 0) {
            frame_clear(f);
            return -1;
        }
    }
    return 0;
}

/* Where the i-th row of the batch is in the columns. */
static uint64_t batch_row(const struct table *t, const struct batch_rows *b, uint64_t i)
{
    uint64_t n = b->order->n;
    uint64_t position =
        i < b->count ? b->first + i : (b->again + (i - b->count) % n) % n;

    return table_row(t, epoch_order_row(b->order, position));
}

/* The number of adjacent rows from the i-th on, which is `row`; *next is the row after
 * them, if there is one. */
static uint64_t rows_adjacent(const struct table *t, const struct batch_rows *b,
                              uint64_t i, uint64_t end, uint64_t row, uint64_t *next)
{
    uint64_t n = 1;

    if (b->order->kind.block == 0 && table_is_plain(t) && end <= b->count)
        return end - i;
    while (i + n < end && (*next = batch_row(t, b, i + n)) == row + n)
        n++;
    return n;
}

int batch_read_part(struct frame *f, const struct table *t,
                    const struct batch_rows *rows, uint64_t from, uint64_t end,
                    struct error *err)
{
    uint64_t next = from < end ? batch_row(t, rows, from) : 0, row, n;

    for (uint64_t i = from; i < end; i += n) {
        row = next;
        n = rows_adjacent(t, rows, i, end, row, &next);
        for (size_t k = 0; k < t->n_columns; k++) {
            const struct column *c = &t->columns[k];

            if (!column_ragged(c) &&
                column_read(t, c, row, n, f->columns[k].data + i * c->row_bytes, err) <
                    0)
                return -1;
        }
    }
    return 0;
}

/* Read columns whose rows have any number of elements. */
static int ragged_columns_read(struct frame *f, const struct table *t,
                               const struct batch_rows *b, uint64_t n,
                               struct error *err)
{
    uint64_t *rows = calloc(n + 1, sizeof *rows);
    int rc = rows ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch");

    for (uint64_t i = 0; rows && i < n; i++)
        rows[i] = batch_row(t, b, i);
    for (size_t k = 0; rc == 0 && k < t->n_columns; k++)
        if (column_ragged(&t->columns[k]))
            rc = ragged_read(&f->columns[k], t, &t->columns[k], rows, n, err);
    free(rows);
    return rc;
}

static bool has_ragged_columns(const struct table *t)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (column_ragged(&t->columns[k]))
            return true;
    return false;
}

int batch_read(struct frame *f, const struct table *t, const struct batch_rows *rows,
               struct error *err)
{
    uint64_t n = rows->count + rows->padding;

    for (size_t k = 0; k < t->n_columns; k++)
        if (!column_ragged(&t->columns[k]) &&
            frame_reserve(&f->columns[k], n, 0, err) < 0)
            return -1;
    if (batch_read_part(f, t, rows, 0, n, err) < 0)
        return -1;
    if (has_ragged_columns(t) && ragged_columns_read(f, t, rows, n, err) < 0)
        return -1;
    f->rows = n;
    return 0;
}

/* Check codes, since they come from files. */
static int batch_codes_check(const struct frame_column *c, size_t n_words,
                             uint64_t rows, struct error *err)
{
    const int32_t *codes = (const int32_t *)(const void *)c->data;

    for (uint64_t i = 0; i < rows; i++)
        if (codes[i] < -1 || (codes[i] >= 0 && (size_t)codes[i] >= n_words))
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "column \"%s\": the converted rows are damaged: %d is not "
                             "the code of a word; remove them, and start again",
                             c->name, (int)codes[i]);
    return 0;
}

int batch_check(const struct frame *f, const struct table *t, struct error *err)
{
    for (size_t k = 0; k < t->n_columns; k++) {
        const struct dictionary *words = t->columns[k].words;

        if (words && batch_codes_check(&f->columns[k], dictionary_count(words), f->rows,
                                       err) < 0)
            return -1;
    }
    return 0;
}
