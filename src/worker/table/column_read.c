/*
 * column_read.c - reads rows with pread(2), and reverses the bytes of swapped ones.
 * packing.c reads packed rows, near_rows.c rows that are not adjacent.
 */
#include "table/column_read.h"

#include <errno.h>
#include <string.h>

#include "util/fs.h"

#define GATHER_BYTES 65536

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

int source_read(const struct source *s, void *out, size_t n, uint64_t offset,
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

/* k rows that are `stride` bytes apart, dense, to `out`. */
static int rows_gather(const struct source *s, uint64_t offset, uint64_t stride,
                       size_t bytes, uint64_t k, unsigned char *out, struct error *err)
{
    unsigned char buffer[GATHER_BYTES];
    uint64_t at_once = bytes <= GATHER_BYTES ? (GATHER_BYTES - bytes) / stride + 1 : 1;

    for (uint64_t n; k > 0; k -= n, offset += n * stride, out += n * bytes) {
        n = k < at_once ? k : at_once;
        if (n == 1) {
            if (source_read(s, out, bytes, offset, err) < 0)
                return -1;
            continue;
        }
        if (source_read(s, buffer, (n - 1) * stride + bytes, offset, err) < 0)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            memcpy(out + i * bytes, buffer + i * stride, bytes);
    }
    return 0;
}

int column_read(const struct table *t, const struct column *c, uint64_t row, uint64_t n,
                unsigned char *out, struct error *err)
{
    size_t bytes = c->row_bytes, width = raytrain_dtype_size(c->row.dtype);

    while (n > 0) {
        const struct extent *e = table_extent(t, c, row);
        const struct source *s = &t->sources[e->source];
        uint64_t at = row - e->first, k = n < e->rows - at ? n : e->rows - at;
        int rc;

        if (e->packing)
            rc = packing_read(t->cache, &t->packings[e->packing - 1], t->chunks, s, at,
                              k, out, err);
        else if (e->stride)
            rc = rows_gather(s, e->offset + at * e->stride, e->stride, bytes, k, out,
                             err);
        else
            rc = source_read(s, out, k * bytes, e->offset + at * bytes, err);
        if (rc < 0)
            return -1;
        if (e->swapped)
            elements_swap(out, k * bytes / width, width);
        out += k * bytes;
        row += k;
        n -= k;
    }
    return 0;
}
