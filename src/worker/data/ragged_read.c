/* ragged_read.c - see ragged_read.h. First where the elements of each row are, then the
 * elements; those of rows that follow each other are read at once. */
#include "data/ragged_read.h"

#include <stdlib.h>

#include "data/column_read.h"

/* Rows of which the lengths are looked at together. */
#define LENGTHS_ROWS 65536

struct ragged {
    struct frame_column *out;
    const struct table *t;
    const struct column *c;
    const uint64_t *rows; /* of the table */
    uint64_t count;
    struct row_place *places; /* of the rows */
};

static const struct extent *row_extent(const struct ragged *g, uint64_t i)
{
    return table_extent(g->t, g->c, g->rows[i]);
}

static int places_read(const struct ragged *g, struct error *err)
{
    for (uint64_t i = 0, n; i < g->count; i += n) {
        n = 1;
        while (i + n < g->count && g->rows[i + n] == g->rows[i] + n)
            n++;
        if (column_read(g->t, g->c, g->rows[i], n, (unsigned char *)(g->places + i),
                        err) < 0)
            return -1;
    }
    return 0;
}

static int damaged(const struct ragged *g, const struct extent *e, struct error *err)
{
    return error_set(
        err, RAYTRAIN_ECORRUPT,
        "%s: column \"%s\": a row lies behind the %llu elements that there "
        "are: the file is damaged",
        g->t->sources[e->source].path, g->c->name, (unsigned long long)e->n_elements);
}

/* The sum of rows cannot exceed a uint64_t in any memory that could be reserved for it. */
static int places_check(const struct ragged *g, uint64_t *elements, struct error *err)
{
    *elements = 0;
    for (uint64_t i = 0; i < g->count; i++) {
        const struct extent *e = row_extent(g, i);
        const struct row_place *p = &g->places[i];

        if (p->first > e->n_elements || p->count > e->n_elements - p->first ||
            __builtin_add_overflow(*elements, p->count, elements))
            return damaged(g, e, err);
    }
    return 0;
}

/* n elements of an extent, to element `at` of the column. */
static int elements_read(const struct ragged *g, const struct extent *e, uint64_t from,
                         uint64_t n, uint64_t at, struct error *err)
{
    const struct source *s = &g->t->sources[e->source];
    size_t width = frame_element_bytes(g->out);

    if (n == 0)
        return 0;
    if (source_read(s, g->out->data + at * width, n * width, e->elements + from * width,
                    err) < 0)
        return -1;
    if (g->c->kind != FRAME_SPARSE)
        return 0;
    return source_read(s, g->out->indices + at, n * sizeof(uint32_t),
                       e->indices + from * sizeof(uint32_t), err);
}

static int rows_read(const struct ragged *g, struct error *err)
{
    const struct extent *e = NULL;
    uint64_t from = 0, n = 0, at = 0;

    for (uint64_t i = 0; i < g->count; i++) {
        const struct extent *next = row_extent(g, i);
        const struct row_place *p = &g->places[i];

        g->out->offsets[i] = at + n;
        if (next != e || p->first != from + n) {
            if (e && elements_read(g, e, from, n, at, err) < 0)
                return -1;
            at += n;
            e = next;
            from = p->first;
            n = 0;
        }
        n += p->count;
    }
    g->out->offsets[g->count] = g->out->n_data = at + n;
    return e ? elements_read(g, e, from, n, at, err) : 0;
}

static int indices_check(const struct ragged *g, struct error *err)
{
    for (uint64_t i = 0; g->c->kind == FRAME_SPARSE && i < g->out->n_data; i++)
        if (g->out->indices[i] >= g->c->row.shape[0])
            return error_set(
                err, RAYTRAIN_ECORRUPT,
                "column \"%s\": the converted rows are damaged: element %u "
                "of a vector of %llu",
                g->c->name, (unsigned)g->out->indices[i],
                (unsigned long long)g->c->row.shape[0]);
    return 0;
}

int ragged_read(struct frame_column *out, const struct table *t, const struct column *c,
                const uint64_t rows[], uint64_t count, struct error *err)
{
    struct ragged g = {out, t, c, rows, count, NULL};
    uint64_t elements;
    int rc;

    g.places = calloc(count + 1, sizeof *g.places);
    rc = g.places ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch");
    if (rc == 0)
        rc = places_read(&g, err);
    if (rc == 0)
        rc = places_check(&g, &elements, err);
    if (rc == 0)
        rc = frame_reserve(out, count, elements, err);
    if (rc == 0)
        rc = rows_read(&g, err);
    free(g.places);
    return rc == 0 ? indices_check(&g, err) : rc;
}

/* ---- Lengths ---- */

static int lengths_look(struct ragged *g, uint64_t rows[], uint64_t first,
                        uint64_t *longest, struct error *err)
{
    uint64_t elements;

    g->rows = rows;
    for (uint64_t i = 0; i < g->count; i++)
        rows[i] = table_row(g->t, first + i);
    if (places_read(g, err) < 0 || places_check(g, &elements, err) < 0)
        return -1;
    for (uint64_t i = 0; i < g->count; i++)
        if (g->places[i].count > *longest)
            *longest = g->places[i].count;
    return 0;
}

int ragged_longest(const struct table *t, const struct column *c, uint64_t first,
                   uint64_t count, uint64_t *longest, struct error *err)
{
    struct ragged g = {.t = t, .c = c};
    uint64_t most = count < LENGTHS_ROWS ? count : LENGTHS_ROWS, end = first + count;
    uint64_t *rows = calloc(most + 1, sizeof *rows);
    int rc = 0;

    *longest = 0;
    g.places = calloc(most + 1, sizeof *g.places);
    if (!rows || !g.places)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for the lengths of rows");
    for (; rc == 0 && first < end; first += g.count) {
        g.count = end - first < most ? end - first : most;
        rc = lengths_look(&g, rows, first, longest, err);
    }
    free(rows);
    free(g.places);
    return rc;
}
