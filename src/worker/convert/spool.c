/* spool.c - see spool.h. A block is its number of rows, then the arrays of each column:
 * for a ragged one the number of elements, offsets, indices, and data. */
#include "convert/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/fs.h"

#define BUFFER_BYTES ((size_t)1 << 20)

static FILE *stream_open(const char *directory, struct error *err)
{
    FILE *stream = NULL;
    char *path = NULL;
    int fd = -1;

    if (asprintf(&path, "%s/.rows-XXXXXX", directory) < 0) {
        error_no_memory(err);
        return NULL;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        fs_error(err, "create a file in", directory);
    else if (unlink(path) < 0)
        fs_error(err, "remove", path);
    else if (!(stream = fdopen(fd, "w+")))
        error_no_memory(err);
    if (fd >= 0 && !stream)
        close(fd);
    free(path);
    return stream;
}

int spool_create(struct spool *s, const char *directory, const struct text_watch *watch,
                 struct error *err)
{
    *s = (struct spool){.where = directory, .watch = watch, .rows = FRAME_INIT};
    s->stream = stream_open(directory, err);
    if (!s->stream)
        return -1;
    s->buffer = malloc(BUFFER_BYTES);
    if (!s->buffer || setvbuf(s->stream, s->buffer, _IOFBF, BUFFER_BYTES) != 0)
        return error_no_memory(err);
    return 0;
}

void spool_clear(struct spool *s)
{
    if (s->stream)
        fclose(s->stream); /* an error no longer matters */
    free(s->buffer);
    free(s->columns);
    free(s->elements);
    frame_clear(&s->rows);
    *s = (struct spool){.rows = FRAME_INIT};
}

static int column_keep(struct spool *s, const struct frame *like, size_t i,
                       struct error *err)
{
    size_t at;

    if (frame_append(&s->rows, &like->columns[i], &at, err) < 0)
        return -1;
    s->columns[at] = i;
    return 0;
}

int spool_begin(struct spool *s, const struct frame *like,
                bool (*keep)(const void *arg, const char *name), const void *arg,
                struct error *err)
{
    free(s->columns);
    free(s->elements);
    frame_clear(&s->rows);
    s->n_rows = 0;
    s->columns = calloc(like->n_columns + 1, sizeof *s->columns);
    s->elements = calloc(like->n_columns + 1, sizeof *s->elements);
    if (!s->columns || !s->elements)
        return error_no_memory(err);
    for (size_t i = 0; i < like->n_columns; i++)
        if (keep(arg, like->columns[i].name) && column_keep(s, like, i, err) < 0)
            return -1;
    rewind(s->stream);
    if (ftruncate(fileno(s->stream), 0) < 0)
        return fs_error(err, "empty a file in", s->where);
    return 0;
}

/* ---- Writing ---- */

static int spool_items_write(struct spool *s, const void *items, uint64_t n,
                             size_t width, struct error *err)
{
    if (n == 0 || fwrite(items, width, n, s->stream) == n)
        return 0;
    return fs_error(err, "write to a file in", s->where);
}

static int column_write(struct spool *s, size_t i, const struct frame_column *c,
                        uint64_t rows, struct error *err)
{
    uint64_t n = rows;

    if (c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS)
        return spool_items_write(s, c->data, n, frame_row_bytes(c), err);
    n = c->offsets[rows];
    s->elements[i] += n;
    if (spool_items_write(s, &n, 1, sizeof n, err) < 0 ||
        spool_items_write(s, c->offsets, rows + 1, sizeof *c->offsets, err) < 0)
        return -1;
    if (c->kind == FRAME_SPARSE &&
        spool_items_write(s, c->indices, n, sizeof *c->indices, err) < 0)
        return -1;
    return spool_items_write(s, c->data, n, frame_element_bytes(c), err);
}

int spool_put(struct spool *s, const struct frame *rows, struct error *err)
{
    if (rows->rows == 0)
        return 0;
    if (spool_items_write(s, &rows->rows, 1, sizeof rows->rows, err) < 0)
        return -1;
    for (size_t i = 0; i < s->rows.n_columns; i++)
        if (column_write(s, i, &rows->columns[s->columns[i]], rows->rows, err) < 0)
            return -1;
    s->n_rows += rows->rows;
    return 0;
}

/* ---- Reading ---- */

static int items_read(struct spool *s, void *items, uint64_t n, size_t width,
                      struct error *err)
{
    if (n == 0 || fread(items, width, n, s->stream) == n)
        return 0;
    if (!ferror(s->stream))
        errno = EIO;
    return fs_error(err, "read from a file in", s->where);
}

static int column_fill(struct spool *s, struct frame_column *c, uint64_t rows,
                       struct error *err)
{
    uint64_t n = rows;

    if (c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS) {
        if (frame_reserve(c, rows, 0, err) < 0)
            return -1;
        return items_read(s, c->data, n, frame_row_bytes(c), err);
    }
    if (items_read(s, &n, 1, sizeof n, err) < 0 || frame_reserve(c, rows, n, err) < 0 ||
        items_read(s, c->offsets, rows + 1, sizeof *c->offsets, err) < 0)
        return -1;
    c->n_data = n;
    if (c->kind == FRAME_SPARSE &&
        items_read(s, c->indices, n, sizeof *c->indices, err) < 0)
        return -1;
    return items_read(s, c->data, n, frame_element_bytes(c), err);
}

int spool_rewind(struct spool *s, struct error *err)
{
    if (fflush(s->stream) != 0)
        return fs_error(err, "write to a file in", s->where);
    rewind(s->stream);
    return 0;
}

int spool_next(struct spool *s, struct error *err)
{
    uint64_t rows = 0;

    s->rows.rows = 0;
    if (text_proceed(s->watch, err) < 0)
        return -1;
    if (fread(&rows, sizeof rows, 1, s->stream) != 1)
        return ferror(s->stream) ? fs_error(err, "read from a file in", s->where) : 0;
    for (size_t i = 0; i < s->rows.n_columns; i++)
        if (column_fill(s, &s->rows.columns[i], rows, err) < 0)
            return -1;
    s->rows.rows = rows;
    return 0;
}
