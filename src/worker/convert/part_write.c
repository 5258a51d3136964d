/* part_write.c - writes the rows of one rank into a part. See part.h. */
#include "convert/part.h"

#include <errno.h>
#include <stdlib.h>

#include "util/fs.h"

struct writing {
    int fd;
    const char *path;
    struct part_sums *sums;
    struct row_place *pairs; /* of a block */
    size_t room;
};

/* The arrays of a column are the streams of its checksums. */
enum part_array { ARRAY_ROWS, ARRAY_ELEMENTS, ARRAY_INDICES, ARRAYS };

/* Where items of an array go: the stream of the array, its place in the file, and the
 * number of items before these. */
struct target {
    size_t stream;
    uint64_t place, at;
};

static int part_items_write(const struct writing *w, const void *items, uint64_t n,
                            size_t width, const struct target *to, struct error *err)
{
    uint64_t offset = to->place + to->at * width;

    if (n == 0)
        return 0;
    if (fs_pwrite_full(w->fd, items, n * width, offset) < 0)
        return fs_error(err, "write", w->path);
    return part_sums_add(w->sums, to->stream, offset, items, n * width, err);
}

/* Turn codes of this rank into those that all ranks have agreed on. */
static void codes_translate(struct frame_column *c, uint64_t rows, const int32_t *codes)
{
    int32_t *data = (int32_t *)(void *)c->data;

    for (uint64_t i = 0; codes && i < rows; i++)
        if (data[i] >= 0)
            data[i] = codes[data[i]];
}

static int pairs_make(struct writing *w, const struct frame_column *c, uint64_t rows,
                      uint64_t first, struct error *err)
{
    if (rows > w->room) {
        free(w->pairs);
        w->pairs = calloc(rows, sizeof *w->pairs);
        w->room = w->pairs ? rows : 0;
    }
    if (!w->pairs)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for converted rows");
    for (uint64_t i = 0; i < rows; i++)
        w->pairs[i] = (struct row_place){first + c->offsets[i],
                                         c->offsets[i + 1] - c->offsets[i]};
    return 0;
}

static int ragged_write(struct writing *w, const struct frame_column *c, uint64_t rows,
                        const struct part_places *p, size_t stream, uint64_t row,
                        uint64_t *element, struct error *err)
{
    const struct target pairs = {stream + ARRAY_ROWS, p->rows, row},
                        elements = {stream + ARRAY_ELEMENTS, p->elements, *element},
                        indices = {stream + ARRAY_INDICES, p->indices, *element};
    uint64_t n = c->n_data;

    if (pairs_make(w, c, rows, *element, err) < 0 ||
        part_items_write(w, w->pairs, rows, sizeof *w->pairs, &pairs, err) < 0 ||
        part_items_write(w, c->data, n, frame_element_bytes(c), &elements, err) < 0)
        return -1;
    if (c->kind == FRAME_SPARSE &&
        part_items_write(w, c->indices, n, sizeof *c->indices, &indices, err) < 0)
        return -1;
    *element += n;
    return 0;
}

static int part_block_write(struct writing *w, struct frame *f,
                            const struct part_places places[], uint64_t row,
                            uint64_t elements[], const int32_t *const codes[],
                            struct error *err)
{
    for (size_t i = 0; i < f->n_columns; i++) {
        struct frame_column *c = &f->columns[i];
        const struct target rows = {i * ARRAYS + ARRAY_ROWS, places[i].rows, row};
        int rc;

        if (c->kind == FRAME_WORDS)
            codes_translate(c, f->rows, codes[i]);
        if (c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS)
            rc = part_items_write(w, c->data, f->rows, frame_row_bytes(c), &rows, err);
        else
            rc = ragged_write(w, c, f->rows, &places[i], i * ARRAYS, row, &elements[i],
                              err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int part_write(int fd, const char *path, const struct part_places places[],
               const struct part_start *start, struct spool *spool,
               const int32_t *const codes[], struct part_sums *sums, struct error *err)
{
    struct writing w = {.fd = fd, .path = path, .sums = sums};
    struct frame *rows = &spool->rows;
    uint64_t *elements = calloc(rows->n_columns + 1, sizeof *elements), row = 0;
    int rc = elements
                 ? 0
                 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for converted rows");

    for (size_t i = 0; rc == 0 && i < rows->n_columns; i++)
        elements[i] = start->elements[i];
    if (rc == 0)
        rc = spool_rewind(spool, err);
    while (rc == 0 && (rc = spool_next(spool, err)) == 0 && rows->rows > 0) {
        rc = part_block_write(&w, rows, places, start->row + row, elements, codes, err);
        row += rows->rows;
    }
    if (rc == 0 && row != spool->n_rows) {
        errno = EIO;
        rc = fs_error(err, "read all rows from a file in", spool->where);
    }
    if (rc == 0)
        rc = part_sums_end(sums, err);
    free(w.pairs);
    free(elements);
    return rc;
}
