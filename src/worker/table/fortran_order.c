/*
 * fortran_order.c - see fortran_order.h.
 *
 * The array is read in blocks of some rows of some elements each. The rows of a block
 * are adjacent for each element in the source, and its elements are for each row in
 * memory, so that neither side is touched byte by byte.
 */
#include "table/fortran_order.h"

#include <stdlib.h>
#include <string.h>

#include "table/expansion.h"
#include "util/fs.h"

#define BLOCK_ROWS     8192
#define BLOCK_ELEMENTS 16

struct transposition {
    const struct fortran_array *array;
    struct source from;
    size_t width;      /* bytes of an element */
    uint64_t elements; /* of a row */
    unsigned char *to, *block;
};

/* Where the i-th element of a row in row-major order is in Fortran order. */
static uint64_t fortran_place(const raytrain_tensor *row, uint64_t i)
{
    uint64_t place = 0;

    for (int d = row->ndim - 1; d >= 0; d--) {
        uint64_t index = i % row->shape[d];

        i /= row->shape[d];
        for (int before = 0; before < d; before++)
            index *= row->shape[before];
        place += index;
    }
    return place;
}

static int fortran_block_read(const struct transposition *t, uint64_t row,
                              uint64_t rows, uint64_t element, uint64_t elements,
                              struct error *err)
{
    for (uint64_t i = 0; i < elements; i++) {
        uint64_t place = fortran_place(&t->array->row, element + i);
        uint64_t at = t->array->at + (place * t->array->rows + row) * t->width;

        if (fs_pread_full(t->from.fd, t->block + i * rows * t->width, rows * t->width,
                          at) < 0)
            return fs_error(err, "read", t->from.path);
    }
    return 0;
}

static void fortran_block_write(const struct transposition *t, uint64_t row,
                                uint64_t rows, uint64_t element, uint64_t elements)
{
    size_t width = t->width;

    for (uint64_t r = 0; r < rows; r++) {
        unsigned char *to = t->to + ((row + r) * t->elements + element) * width;

        for (uint64_t i = 0; i < elements; i++, to += width)
            memcpy(to, t->block + (i * rows + r) * width, width);
    }
}

static int blocks_copy(const struct transposition *t, struct error *err)
{
    for (uint64_t row = 0; row < t->array->rows; row += BLOCK_ROWS) {
        uint64_t left = t->array->rows - row;
        uint64_t rows = left < BLOCK_ROWS ? left : BLOCK_ROWS;

        for (uint64_t e = 0; e < t->elements; e += BLOCK_ELEMENTS) {
            uint64_t more = t->elements - e;
            uint64_t elements = more < BLOCK_ELEMENTS ? more : BLOCK_ELEMENTS;

            if (fortran_block_read(t, row, rows, e, elements, err) < 0)
                return -1;
            fortran_block_write(t, row, rows, e, elements);
        }
    }
    return 0;
}

int fortran_order_expand(struct table *t, const struct fortran_array *a, size_t *source,
                         struct error *err)
{
    struct transposition job = {.array = a, .from = t->sources[*source]};
    struct expansion e;
    uint64_t bytes = 0;
    int rc;

    job.width = raytrain_dtype_size(a->row.dtype);
    if (!tensor_bytes(&a->row, &bytes) || bytes > UINT64_MAX / a->rows)
        return error_set(err, RAYTRAIN_ECORRUPT, "%s: impossible shape", job.from.path);
    job.elements = bytes / job.width;
    if (expansion_begin(&e, bytes * a->rows, job.from.path, err) < 0)
        return -1;
    job.to = e.bytes;
    job.block = malloc(BLOCK_ROWS * BLOCK_ELEMENTS * job.width);
    rc = job.block ? blocks_copy(&job, err) : error_no_memory(err);
    free(job.block);
    if (rc == 0)
        return expansion_end(&e, t, source, err);
    expansion_abandon(&e);
    return -1;
}
