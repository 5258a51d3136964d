/*
 * same_rows.c - compares the columns, the words and then the rows of two tables, block
 * by block. batch.c reads rows.
 */
#include "data/same_rows.h"

#include <string.h>

#include "data/batch.h"

#define BLOCK_ROWS 4096

static bool words_same(const struct dictionary *a, const struct dictionary *b)
{
    size_t n = a ? dictionary_count(a) : 0, length_a, length_b;

    if (n != (b ? dictionary_count(b) : 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *word = dictionary_word(a, i, &length_a);
        const char *other = dictionary_word(b, i, &length_b);

        if (length_a != length_b || memcmp(word, other, length_a) != 0)
            return false;
    }
    return true;
}

static bool columns_same(const struct table *a, const struct table *b)
{
    if (a->rows != b->rows || a->n_columns != b->n_columns)
        return false;
    for (size_t i = 0; i < a->n_columns; i++) {
        const struct column *c = &a->columns[i], *d = &b->columns[i];

        if (strcmp(c->name, d->name) != 0 || c->kind != d->kind ||
            c->row.dtype != d->row.dtype || c->row.ndim != d->row.ndim ||
            memcmp(c->row.shape, d->row.shape,
                   (size_t)c->row.ndim * sizeof *c->row.shape) != 0 ||
            !words_same(c->words, d->words))
            return false;
    }
    return true;
}

static bool values_same(const struct frame_column *a, const struct frame_column *b,
                        uint64_t rows)
{
    uint64_t n;

    if (a->kind == FRAME_NUMBERS || a->kind == FRAME_WORDS)
        return memcmp(a->data, b->data, rows * frame_row_bytes(a)) == 0;
    if (memcmp(a->offsets, b->offsets, (rows + 1) * sizeof *a->offsets) != 0)
        return false;
    n = a->offsets[rows];
    if (n == 0)
        return true;
    return memcmp(a->data, b->data, n * frame_element_bytes(a)) == 0 &&
           (a->kind != FRAME_SPARSE ||
            memcmp(a->indices, b->indices, n * sizeof *a->indices) == 0);
}

/* A table with a frame for a block of its rows, in their order. */
struct side {
    const struct table *table;
    struct epoch_order order;
    struct frame frame;
};

static int side_begin(struct side *s, const struct table *t, struct error *err)
{
    const struct order_kind in_order = {0};

    *s = (struct side){.table = t, .order = EPOCH_ORDER_INIT, .frame = FRAME_INIT};
    if (batch_init(&s->frame, t, err) < 0)
        return -1;
    return epoch_order_set(&s->order, t->rows, &in_order, 0, 0, err);
}

static void side_end(struct side *s)
{
    epoch_order_clear(&s->order);
    frame_clear(&s->frame);
}

static int side_read(struct side *s, uint64_t first, uint64_t n, struct error *err)
{
    const struct batch_rows rows = {.order = &s->order, .first = first, .count = n};

    return batch_read(&s->frame, s->table, &rows, err);
}

static int blocks_compare(struct side *a, struct side *b, uint64_t first, uint64_t end,
                          bool *same, struct error *err)
{
    for (uint64_t n; *same && first < end; first += n) {
        n = end - first < BLOCK_ROWS ? end - first : BLOCK_ROWS;
        if (side_read(a, first, n, err) < 0 || side_read(b, first, n, err) < 0)
            return -1;
        for (size_t i = 0; *same && i < a->frame.n_columns; i++)
            *same = values_same(&a->frame.columns[i], &b->frame.columns[i], n);
    }
    return 0;
}

int same_rows(const struct table *a, const struct table *b, int share, int shares,
              bool *same, struct error *err)
{
    unsigned __int128 rows = a->rows;
    struct side sides[2];
    int rc;

    *same = columns_same(a, b);
    if (!*same)
        return 0;
    sides[1] = (struct side){.order = EPOCH_ORDER_INIT, .frame = FRAME_INIT};
    rc = side_begin(&sides[0], a, err);
    if (rc == 0)
        rc = side_begin(&sides[1], b, err);
    if (rc == 0)
        rc = blocks_compare(
            &sides[0], &sides[1], (uint64_t)(rows * (unsigned)share / (unsigned)shares),
            (uint64_t)(rows * ((unsigned)share + 1) / (unsigned)shares), same, err);
    side_end(&sides[0]);
    side_end(&sides[1]);
    return rc;
}
