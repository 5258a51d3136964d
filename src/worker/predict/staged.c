/*
 * staged.c - copies the columns of a batch, for the streams of its part. output_part.c
 * writes the streams.
 */
#include "predict/staged.h"

#include <stdlib.h>
#include <string.h>

struct staged_column {
    unsigned char *numbers; /* malloc'ed, for a whole batch; NULL: strings */
    struct predicted_stream strings;
    uint64_t *offsets;
    bool there;
};

/* ---- Memory ---- */

static int column_init(struct staged_column *c, struct predicted_rows *rows,
                       const struct predicted_column *like, uint64_t n,
                       struct error *err)
{
    if (like->is_string) {
        c->offsets = n < SIZE_MAX / sizeof *c->offsets
                         ? calloc(n + 1, sizeof *c->offsets)
                         : NULL;
        rows->offsets = c->offsets;
        return c->offsets ? 0 : error_no_memory(err);
    }
    if (n > SIZE_MAX / like->row_bytes)
        return error_no_memory(err);
    c->numbers = malloc(n * like->row_bytes);
    rows->data = c->numbers;
    return c->numbers ? 0 : error_no_memory(err);
}

int staged_init(struct staged *s, const struct predicted *p, uint64_t rows,
                struct error *err)
{
    *s = (struct staged){.n = p->n};
    s->columns = calloc(p->n, sizeof *s->columns);
    s->rows = calloc(p->n, sizeof *s->rows);
    if (!s->columns || !s->rows)
        return error_no_memory(err);
    for (size_t i = 0; i < p->n; i++)
        if (column_init(&s->columns[i], &s->rows[i], &p->columns[i], rows, err) < 0)
            return -1;
    return 0;
}

void staged_clear(struct staged *s)
{
    for (size_t i = 0; s->columns && i < s->n; i++) {
        free(s->columns[i].numbers);
        free(s->columns[i].strings.data);
        free(s->columns[i].offsets);
    }
    free(s->columns);
    free(s->rows);
    *s = (struct staged){.n = 0};
}

/* ---- A batch ---- */

void staged_begin(struct staged *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->columns[i].there = false;
}

void staged_put(struct staged *s, const struct predicted *p, size_t i, const void *data,
                uint64_t rows)
{
    memcpy(s->columns[i].numbers, data, rows * p->columns[i].row_bytes);
    s->columns[i].there = true;
}

/* The string of a row; none if it is missing. */
static const void *staged_string(const struct frame_column *from, uint64_t row,
                                 size_t *n)
{
    int32_t code;

    if (from->kind == FRAME_TEXT) {
        *n = from->offsets[row + 1] - from->offsets[row];
        return from->data + from->offsets[row];
    }
    memcpy(&code, from->data + row * sizeof code, sizeof code);
    *n = 0;
    return code < 0 ? "" : dictionary_word(from->words, (size_t)code, n);
}

static int strings_keep(struct staged_column *c, const struct frame_column *from,
                        uint64_t rows, struct error *err)
{
    c->strings.n = 0;
    for (uint64_t row = 0; row < rows; row++) {
        size_t n;
        const void *string = staged_string(from, row, &n);

        if (predicted_stream_add(&c->strings, string, n, err) < 0)
            return -1;
        c->offsets[row + 1] = c->strings.n;
    }
    c->there = true;
    return 0;
}

int staged_keep(struct staged *s, const struct predicted *p, size_t i,
                const struct frame_column *from, uint64_t rows, struct error *err)
{
    if (!p->columns[i].is_string) {
        staged_put(s, p, i, from->data, rows);
        return 0;
    }
    if (strings_keep(&s->columns[i], from, rows, err) < 0)
        return -1;
    s->rows[i].data = s->columns[i].strings.data; /* growing may have moved it */
    return 0;
}

long staged_missing(const struct staged *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->columns[i].there)
            return (long)i;
    return -1;
}
