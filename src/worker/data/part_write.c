/* part_write.c - the rows of one rank go into a part. See part.h. */
#include "data/part.h"

#include <errno.h>
#include <stdlib.h>

#include "util/fs.h"

struct writing {
    int fd;
    const char *path;
    struct row_place *pairs; /* of a block */
    size_t room;
};

static int bytes_write(const struct writing *w, const void *data, uint64_t n,
                       size_t width, uint64_t place, uint64_t at, struct error *err)
{
    if (n == 0 || fs_pwrite_full(w->fd, data, n * width, place + at * width) == 0)
        return 0;
    return fs_error(err, "write", w->path);
}

/* The codes of this rank become those of all. */
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
                        const struct part_places *p, uint64_t row, uint64_t *element,
                        struct error *err)
{
    uint64_t n = c->n_data;

    if (pairs_make(w, c, rows, *element, err) < 0 ||
        bytes_write(w, w->pairs, rows, sizeof *w->pairs, p->rows, row, err) < 0 ||
        bytes_write(w, c->data, n, frame_element_bytes(c), p->elements, *element, err) <
            0)
        return -1;
    if (c->kind == FRAME_SPARSE && bytes_write(w, c->indices, n, sizeof *c->indices,
                                               p->indices, *element, err) < 0)
        return -1;
    *element += n;
    return 0;
}

static int block_write(struct writing *w, struct frame *f,
                       const struct part_places places[], uint64_t row,
                       uint64_t elements[], const int32_t *const codes[],
                       struct error *err)
{
    for (size_t i = 0; i < f->n_columns; i++) {
        struct frame_column *c = &f->columns[i];
        int rc;

        if (c->kind == FRAME_WORDS)
            codes_translate(c, f->rows, codes[i]);
        if (c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS)
            rc = bytes_write(w, c->data, f->rows, frame_row_bytes(c), places[i].rows,
                             row, err);
        else
            rc = ragged_write(w, c, f->rows, &places[i], row, &elements[i], err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int part_write(int fd, const char *path, const struct part_places places[],
               const struct part_start *start, struct spool *spool,
               const int32_t *const codes[], struct error *err)
{
    struct writing w = {.fd = fd, .path = path};
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
        rc = block_write(&w, rows, places, start->row + row, elements, codes, err);
        row += rows->rows;
    }
    if (rc == 0 && row != spool->n_rows) {
        errno = EIO;
        rc = fs_error(err, "read all rows from a file in", spool->where);
    }
    free(w.pairs);
    free(elements);
    return rc;
}
