#include "data/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"

#define ALIGNMENT 64

int batch_init(struct batch *b, const struct table *t, struct error *err)
{
    *b = (struct batch){.n_columns = t->n_columns};
    b->columns = calloc(t->n_columns, sizeof *b->columns);
    if (!b->columns)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

void batch_clear(struct batch *b)
{
    for (size_t i = 0; b->columns && i < b->n_columns; i++)
        free(b->columns[i]);
    free(b->columns);
    *b = (struct batch){0};
}

int batch_reserve(struct batch *b, const struct table *t, uint64_t rows,
                  struct error *err)
{
    if (rows <= b->capacity)
        return 0;
    b->capacity = b->rows = 0;
    for (size_t i = 0; i < b->n_columns; i++) {
        size_t n;

        free(b->columns[i]);
        b->columns[i] = NULL;
        if (!__builtin_mul_overflow(rows, t->columns[i].row_bytes, &n) &&
            n <= SIZE_MAX - ALIGNMENT)
            b->columns[i] = aligned_alloc(ALIGNMENT, (n / ALIGNMENT + 1) * ALIGNMENT);
        if (!b->columns[i])
            return error_set(
                err, RAYTRAIN_ENOMEM,
                "no memory for %llu rows of column \"%s\", %zu bytes each: "
                "a smaller batch is needed",
                (unsigned long long)rows, t->columns[i].name, t->columns[i].row_bytes);
    }
    b->capacity = rows;
    return 0;
}

/* Reverse the bytes of each of n elements. */
static void elements_swap(unsigned char *p, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++, p += width)
        for (size_t a = 0, z = width - 1; a < z; a++, z--) {
            unsigned char byte = p[a];

            p[a] = p[z];
            p[z] = byte;
        }
}

static int source_read(const struct source *s, void *out, size_t n, uint64_t offset,
                       struct error *err)
{
    if (s->map) {
        memcpy(out, s->map + offset, n);
        return 0;
    }
    if (fs_pread_full(s->fd, out, n, offset) == 0)
        return 0;
    if (errno == ENODATA)
        return error_set(
            err, RAYTRAIN_ECORRUPT,
            "%s: it has become shorter than the %llu bytes that it had when "
            "it was opened: a dataset must not change while it is in use",
            s->path, (unsigned long long)s->size);
    return fs_error(err, "read", s->path);
}

/* The i-th row is `row`: how many rows from there on are adjacent? *next is the row
 * after those, if there is one. */
static uint64_t rows_adjacent(const struct shuffle *order, uint64_t i, uint64_t end,
                              uint64_t row, uint64_t *next)
{
    uint64_t n = 1;

    if (order->identity)
        return end - i;
    while (i + n < end && (*next = shuffle_row(order, i + n)) == row + n)
        n++;
    return n;
}

/* Rows row..row+n of a column, dense, to `out`. */
static int column_read(const struct table *t, const struct column *c, uint64_t row,
                       uint64_t n, unsigned char *out, struct error *err)
{
    size_t bytes = c->row_bytes, width = raytrain_dtype_size(c->row.dtype);

    while (n > 0) {
        const struct extent *e = table_extent(t, c, row);
        uint64_t at = row - e->first, k = n < e->rows - at ? n : e->rows - at;

        if (source_read(&t->sources[e->source], out, k * bytes, e->offset + at * bytes,
                        err) < 0)
            return -1;
        if (e->swapped)
            elements_swap(out, k * bytes / width, width);
        out += k * bytes;
        row += k;
        n -= k;
    }
    return 0;
}

int batch_read(struct batch *b, const struct table *t, const struct shuffle *order,
               uint64_t first, uint64_t count, struct error *err)
{
    uint64_t next = count > 0 ? shuffle_row(order, first) : 0, row, n;

    for (uint64_t i = 0; i < count; i += n) {
        row = next;
        n = rows_adjacent(order, first + i, first + count, row, &next);
        for (size_t k = 0; k < t->n_columns; k++) {
            const struct column *c = &t->columns[k];

            if (column_read(t, c, row, n, b->columns[k] + i * c->row_bytes, err) < 0)
                return -1;
        }
    }
    b->rows = count;
    return 0;
}
