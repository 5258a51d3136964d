/*
 * line_range.c - divides the lines of files among ranks, and reads them in blocks of
 * whole lines.
 */
#include "text/line_range.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)256 * 1024)

/* ---- Sizes and shares ---- */

void line_range_clear(struct line_range *r)
{
    free(r->starts);
    free(r->sizes);
    free(r->bytes);
    *r = (struct line_range){0};
}

/* Note where the lines of a file are. */
static int range_size_note(struct line_range *r, size_t i, struct error *err)
{
    struct text_file f = TEXT_FILE_INIT;
    char bytes[4];
    size_t n, mark = 0;
    int rc = text_open(&f, &r->sources[i], err);

    if (rc < 0)
        return -1;
    n = f.size < sizeof bytes ? (size_t)f.size : sizeof bytes;
    rc = text_read(&f, bytes, n, 0, err);
    if (rc == 0)
        rc = text_mark(&f, bytes, n, &mark, err);
    r->starts[i] = (int64_t)mark;
    r->sizes[i] = (int64_t)f.size;
    text_close(&f);
    return rc;
}

static uint64_t range_file_bytes(const struct line_range *r, size_t i)
{
    return (uint64_t)(r->sizes[i] - r->starts[i]);
}

static void share(struct line_range *r, int rank, int size)
{
    uint64_t all = 0;

    for (size_t i = 0; i < r->n_sources; i++)
        all += range_file_bytes(r, i);
    r->from = (uint64_t)((unsigned __int128)all * (unsigned)rank / (unsigned)size);
    r->to = (uint64_t)((unsigned __int128)all * (unsigned)(rank + 1) / (unsigned)size);
}

/* COLLECTIVE: look at the files, each on one rank. */
static int range_files_look(struct comm *comm, struct line_range *r, struct error *err)
{
    int rc = 0;

    for (size_t i = (size_t)comm->rank; i < r->n_sources && rc == 0;
         i += (size_t)comm->size)
        rc = range_size_note(r, i, err);
    if (comm_agree(comm, rc, err) < 0 ||
        comm->ops->allreduce(comm, r->starts, r->n_sources, COMM_INT64, COMM_SUM, err) <
            0 ||
        comm->ops->allreduce(comm, r->sizes, r->n_sources, COMM_INT64, COMM_SUM, err) <
            0)
        return -1;
    share(r, comm->rank, comm->size);
    return 0;
}

int line_range_init(struct comm *comm, struct line_range *r,
                    const struct text_source sources[], size_t n, size_t block_bytes,
                    struct error *err)
{
    int rc = 0;

    *r = (struct line_range){.sources = sources,
                             .n_sources = n,
                             .block_bytes = block_bytes ? block_bytes : BLOCK_BYTES};
    if (n == 0)
        return error_set(err, RAYTRAIN_EINVAL, "there is no file to read");
    r->starts = calloc(n, sizeof *r->starts);
    r->sizes = calloc(n, sizeof *r->sizes);
    if (!r->starts || !r->sizes)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for %zu files", n);
    return comm_agree(comm, rc, err) < 0 ? -1 : range_files_look(comm, r, err);
}

/* ---- Blocks ---- */

/* The part of a range that is in one file. */
struct piece {
    struct line_range *r;
    struct line_block block;
    uint64_t at, to; /* in the file: the bytes that are not used yet */
};

/* Read the *n bytes at p->at, or up to the end of the file. */
static int bytes_read(struct piece *p, size_t *n, struct error *err)
{
    struct line_range *r = p->r;
    const struct text_file *f = p->block.file;

    if (f->size - p->at < *n)
        *n = (size_t)(f->size - p->at);
    if (*n > LINE_BYTES_MAX) {
        error_set(err, RAYTRAIN_EINVAL,
                  "the line has more than %zu bytes; is this text?", LINE_BYTES_MAX);
        return text_error_at(f, p->at, err);
    }
    if (*n > r->room) {
        char *grown = realloc(r->bytes, *n);

        if (!grown)
            return error_set(err, RAYTRAIN_ENOMEM,
                             "out of memory for a line of %zu bytes", *n);
        r->bytes = grown;
        r->room = *n;
    }
    return text_read(f, r->bytes, *n, p->at, err);
}

/* Move p->at, which is one byte before the piece, to the first line that begins in
 * it. */
static int piece_line_find(struct piece *p, struct error *err)
{
    while (p->at < p->to) {
        size_t n = p->r->block_bytes;
        const char *end;

        if (bytes_read(p, &n, err) < 0)
            return -1;
        end = memchr(p->r->bytes, '\n', n);
        if (end) {
            p->at += (uint64_t)(end - p->r->bytes) + 1;
            return 0;
        }
        p->at += n;
    }
    return 0;
}

/* The number of those of n bytes at p->at that are whole lines which begin before
 * p->to. 0: no line is whole. */
static size_t whole_lines(const struct piece *p, size_t n)
{
    const char *bytes = p->r->bytes, *end;
    size_t limit = p->to - p->at < n ? (size_t)(p->to - p->at) : n;

    end = memchr(bytes + limit - 1, '\n', n - limit + 1);
    if (end)
        return (size_t)(end - bytes) + 1;
    if (p->at + n == p->block.file->size)
        return n;
    end = memrchr(bytes, '\n', limit - 1);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

/* Read the next block of the piece; p->at is before p->to. */
static int piece_block_read(struct piece *p, struct error *err)
{
    p->block.n = 0;
    for (size_t n = p->r->block_bytes; p->block.n == 0; n *= 2) {
        if (bytes_read(p, &n, err) < 0)
            return -1;
        p->block.n = whole_lines(p, n);
    }
    p->block.bytes = p->r->bytes;
    p->block.at = p->at;
    p->at += p->block.n;
    return 0;
}

static int file_changed(const char *name, struct error *err)
{
    return error_set(
        err, RAYTRAIN_ECORRUPT,
        "%s was written to while it was read; start again when it is complete", name);
}

/* Process the bytes from..to of the lines of file i. */
static int piece_each(struct line_range *r, size_t i, uint64_t from, uint64_t to,
                      line_block_func use, void *arg, struct error *err)
{
    struct text_file f = TEXT_FILE_INIT;
    struct piece p = {.r = r,
                      .block = {.file = &f, .source = i},
                      .at = (uint64_t)r->starts[i] + from - (from > 0),
                      .to = (uint64_t)r->starts[i] + to};
    int rc = text_open(&f, &r->sources[i], err);

    if (rc == 0 && f.size != (uint64_t)r->sizes[i])
        rc = file_changed(f.name, err);
    if (rc == 0 && from > 0)
        rc = piece_line_find(&p, err);
    while (rc == 0 && p.at < p.to) {
        rc = piece_block_read(&p, err);
        if (rc == 0)
            rc = use(arg, &p.block, err);
    }
    if (rc >= 0 && text_unchanged(&f, err) < 0)
        rc = -1;
    text_close(&f);
    return rc;
}

int line_range_each(struct line_range *r, line_block_func use, void *arg,
                    struct error *err)
{
    uint64_t base = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->n_sources && base < r->to; i++) {
        uint64_t n = range_file_bytes(r, i);
        uint64_t from = r->from > base ? r->from - base : 0;
        uint64_t to = r->to - base < n ? r->to - base : n;

        base += n;
        if (from < to)
            rc = piece_each(r, i, from, to, use, arg, err);
    }
    return rc < 0 ? -1 : 0;
}

/* ---- Rows ---- */

struct counting {
    uint64_t (*count)(const char *bytes, size_t n);
    int64_t rows;
};

static int block_count(void *arg, const struct line_block *block, struct error *err)
{
    struct counting *c = arg;

    (void)err;
    c->rows += (int64_t)c->count(block->bytes, block->n);
    return 0;
}

int line_range_count(struct comm *comm, struct line_range *r,
                     uint64_t (*count)(const char *bytes, size_t n), struct error *err)
{
    struct counting c = {.count = count};
    int64_t *all = malloc((size_t)comm->size * sizeof *all);
    int rc = all ? line_range_each(r, block_count, &c, err)
                 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for numbers of rows");

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &c.rows, sizeof c.rows, all, err);
    r->first = r->rows = 0;
    r->own = (uint64_t)c.rows;
    for (int i = 0; rc == 0 && i < comm->size; i++) {
        if (i < comm->rank)
            r->first += (uint64_t)all[i];
        r->rows += (uint64_t)all[i];
    }
    free(all);
    return rc;
}

int line_range_rows(struct line_range *r, line_block_func use, void *arg, uint64_t *row,
                    struct error *err)
{
    *row = r->first;
    if (line_range_each(r, use, arg, err) < 0)
        return -1;
    return *row == r->first + r->own ? 0 : file_changed("a file", err);
}

int line_range_take(const struct line_range *r, uint64_t *row, uint64_t n,
                    const struct line_block *block, struct error *err)
{
    *row += n;
    return *row <= r->first + r->own ? 0 : file_changed(block->file->name, err);
}
