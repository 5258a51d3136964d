/* ragged_read.c - see ragged_read.h. It reads the places of the elements of each row,
 * then the elements; those of rows that are near each other at once. */
#include "table/ragged_read.h"

#include <stdlib.h>
#include <string.h>

#include "table/column_read.h"
#include "table/near_rows.h"

/* Rows whose lengths are read at once. */
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

static int ragged_damaged(const struct ragged *g, const struct extent *e,
                          struct error *err)
{
    return error_set(
        err, RAYTRAIN_ECORRUPT,
        "%s: column \"%s\": a row lies behind the %llu elements that there "
        "are: the file is damaged",
        g->t->sources[e->source].path, g->c->name, (unsigned long long)e->n_elements);
}

/* The sum of rows cannot exceed a uint64_t in any memory that could be reserved for
 * it. */
static int places_check(const struct ragged *g, uint64_t *elements, struct error *err)
{
    *elements = 0;
    for (uint64_t i = 0; i < g->count; i++) {
        const struct extent *e = row_extent(g, i);
        const struct row_place *p = &g->places[i];

        if (p->first > e->n_elements || p->count > e->n_elements - p->first ||
            __builtin_add_overflow(*elements, p->count, elements))
            return ragged_damaged(g, e, err);
    }
    return 0;
}

/* Rows whose elements are read at once: those from..end of an extent. */
struct run {
    const struct extent *extent;
    uint64_t from, end;
    bool dense; /* the rows have all of them */
};

static size_t ragged_width(const struct ragged *g)
{
    return frame_element_bytes(g->out) +
           (g->c->kind == FRAME_SPARSE ? sizeof(uint32_t) : 0);
}

/* The run that begins with row i. Returns the row after it. */
static uint64_t ragged_run_find(const struct ragged *g, uint64_t i, struct run *run)
{
    const struct row_place *p = &g->places[i];
    uint64_t gap = NEAR_GAP_BYTES / ragged_width(g),
             span = NEAR_SPAN_BYTES / ragged_width(g);

    *run = (struct run){row_extent(g, i), p->first, p->first + p->count, true};
    while (++i < g->count) {
        p = &g->places[i];
        if (row_extent(g, i) != run->extent || p->first < run->end ||
            p->first - run->end > gap || p->first + p->count - run->from > span)
            break;
        run->dense = run->dense && p->first == run->end;
        run->end = p->first + p->count;
    }
    return i;
}

/* Read n bytes of the source, `width` for each element; those of rows i..end go to
 * `out`. */
static int elements_read(const struct ragged *g, const struct run *run, uint64_t i,
                         uint64_t end, uint64_t offset, size_t width,
                         unsigned char *out, struct error *err)
{
    const struct source *s = &g->t->sources[run->extent->source];
    uint64_t n = (run->end - run->from) * width;
    unsigned char *between;
    int rc;

    offset += run->from * width;
    out += g->out->offsets[i] * width;
    if (run->dense)
        return source_read(s, out, n, offset, err);
    between = malloc(n);
    if (!between)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch");
    rc = source_read(s, between, n, offset, err);
    for (; i < end && rc == 0; i++) {
        const struct row_place *p = &g->places[i];

        memcpy(out, between + (p->first - run->from) * width, p->count * width);
        out += p->count * width;
    }
    free(between);
    return rc;
}

static int ragged_rows_read(const struct ragged *g, struct error *err)
{
    struct frame_column *out = g->out;
    struct run run;

    out->offsets[0] = 0;
    for (uint64_t i = 0; i < g->count; i++)
        out->offsets[i + 1] = out->offsets[i] + g->places[i].count;
    out->n_data = out->offsets[g->count];
    for (uint64_t i = 0, end; i < g->count; i = end) {
        end = ragged_run_find(g, i, &run);
        if (run.end > run.from &&
            (elements_read(g, &run, i, end, run.extent->elements,
                           frame_element_bytes(out), out->data, err) < 0 ||
             (g->c->kind == FRAME_SPARSE &&
              elements_read(g, &run, i, end, run.extent->indices, sizeof(uint32_t),
                            (unsigned char *)out->indices, err) < 0)))
            return -1;
    }
    return 0;
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
        rc = near_rows_read(t, c, rows, count, (unsigned char *)g.places, err);
    if (rc == 0)
        rc = places_check(&g, &elements, err);
    if (rc == 0)
        rc = frame_reserve(out, count, elements, err);
    if (rc == 0)
        rc = ragged_rows_read(&g, err);
    free(g.places);
    return rc == 0 ? indices_check(&g, err) : rc;
}

/* ---- Lengths ---- */

/* The search for the largest batch in the lengths of adjacent rows. */
struct lengths {
    uint64_t batch, left; /* rows of a batch, and of the one that is being added up */
    uint64_t sum, most;   /* of that, and of any: elements */
};

static int lengths_look(struct ragged *g, uint64_t rows[], uint64_t first,
                        struct lengths *l, struct error *err)
{
    uint64_t elements;

    g->rows = rows;
    for (uint64_t i = 0; i < g->count; i++)
        rows[i] = table_row(g->t, first + i);
    if (near_rows_read(g->t, g->c, rows, g->count, (unsigned char *)g->places, err) <
            0 ||
        places_check(g, &elements, err) < 0)
        return -1;
    for (uint64_t i = 0; i < g->count; i++) {
        l->sum += g->places[i].count;
        l->most = l->sum > l->most ? l->sum : l->most;
        if (--l->left == 0) {
            l->left = l->batch;
            l->sum = 0;
        }
    }
    return 0;
}

int ragged_largest(const struct table *t, const struct column *c, uint64_t first,
                   uint64_t count, uint64_t batch, uint64_t *largest, struct error *err)
{
    struct ragged g = {.t = t, .c = c};
    struct lengths l = {.batch = batch, .left = batch};
    uint64_t most = count < LENGTHS_ROWS ? count : LENGTHS_ROWS, end = first + count;
    uint64_t *rows = calloc(most + 1, sizeof *rows);
    int rc = 0;

    g.places = calloc(most + 1, sizeof *g.places);
    if (!rows || !g.places)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for the lengths of rows");
    for (; rc == 0 && first < end; first += g.count) {
        g.count = end - first < most ? end - first : most;
        rc = lengths_look(&g, rows, first, &l, err);
    }
    free(rows);
    free(g.places);
    *largest = l.most;
    return rc;
}
