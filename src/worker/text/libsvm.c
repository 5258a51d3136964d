/*
 * libsvm.c - converts LIBSVM files, in passes over all rows on which all ranks agree.
 * libsvm_block.c parses lines; line_range.c divides them among ranks.
 */
#include "text/libsvm.h"

#include <stdlib.h>

#include "text/libsvm_block.h"
#include "text/line_range.h"

#define PASSES 2 /* the first one sees all rows */

struct libsvm_conversion {
    struct comm *comm;
    const struct libsvm_options *options;
    const struct row_sink *sink;
    void *arg;
    struct line_range range;
    struct libsvm_block block;
    uint64_t row; /* the next row of this rank */
    bool stale;   /* a row needs columns that do not exist: no rows are put */
    /* The first row of this rank without qid. */
    bool some_without;
    size_t source;
    uint64_t at;
};

/* ---- Columns ---- */

/* True if an index 0 is an error. */
static bool strict(const struct libsvm_conversion *c)
{
    return c->options->base == LIBSVM_FROM_ONE;
}

static unsigned first_feature(const struct libsvm_conversion *c)
{
    switch (c->options->base) {
    case LIBSVM_FROM_ZERO:
        return 0;
    case LIBSVM_FROM_ONE:
        return 1;
    default:
        return !c->block.seen.zero;
    }
}

/* True if a row does not fit the columns. */
static bool outgrown(const struct libsvm_conversion *c)
{
    const struct libsvm_block *b = &c->block;

    return b->weight != b->seen.weight || b->query != b->seen.query ||
           b->first != first_feature(c);
}

/* COLLECTIVE: choose the columns from the rows that all ranks have seen. */
static int columns_agree(struct libsvm_conversion *c, bool *changed, struct error *err)
{
    struct libsvm_block *b = &c->block;
    int64_t seen[] = {b->seen.weight, b->seen.query, b->seen.zero, b->seen.last};

    if (c->comm->ops->allreduce(c->comm, seen, sizeof seen / sizeof *seen, COMM_INT64,
                                COMM_MAX, err) < 0)
        return -1;
    b->seen = (struct libsvm_seen){seen[0] != 0, seen[1] != 0, seen[2] != 0, seen[3]};
    *changed = outgrown(c);
    b->weight = b->seen.weight;
    b->query = b->seen.query;
    b->first = first_feature(c);
    return comm_agree(c->comm, libsvm_block_columns(b, err), err);
}

/* ---- Rows ---- */

/* Look at the first block of this rank. The pass reports errors. */
static int block_sample(void *arg, const struct line_block *block, struct error *err)
{
    struct libsvm_conversion *c = arg;

    (void)err;
    (void)libsvm_block_parse(&c->block, block->bytes, block->n, strict(c), NULL);
    return 1;
}

static int libsvm_block_put(void *arg, const struct line_block *block,
                            struct error *err)
{
    struct libsvm_conversion *c = arg;
    struct libsvm_block *b = &c->block;
    uint64_t first = c->row;

    if (libsvm_block_parse(b, block->bytes, block->n, strict(c), err) < 0)
        return text_error_at(block->file, block->at + b->fault, err);
    if (b->some_without && !c->some_without) {
        c->some_without = true;
        c->source = block->source;
        c->at = block->at + b->no_query;
    }
    if (line_range_take(&c->range, &c->row, b->rows.rows, block, err) < 0)
        return -1;
    c->stale |= outgrown(c);
    if (c->stale || b->rows.rows == 0)
        return 0;
    return c->sink->put(c->arg, first, &b->rows, err);
}

static int libsvm_rows_put(struct libsvm_conversion *c, struct error *err)
{
    c->stale = c->some_without = false;
    return line_range_rows(&c->range, libsvm_block_put, c, &c->row, err);
}

/* Set the error for a row of this rank without qid, if other rows have one. */
static int no_query(const struct libsvm_conversion *c, struct error *err)
{
    struct text_file f = TEXT_FILE_INIT;

    if (text_open(&f, &c->range.sources[c->source], err) < 0)
        return -1;
    error_set(err, RAYTRAIN_EINVAL,
              "the row has no qid, but others have; either all rows have one, or "
              "none has");
    text_error_at(&f, c->at, err);
    text_close(&f);
    return -1;
}

/* COLLECTIVE: put all rows into the sink. */
static int libsvm_pass(struct libsvm_conversion *c, struct error *err)
{
    int rc = c->sink->begin(c->arg, &c->block.rows, c->range.rows, err);

    rc = comm_agree(c->comm, rc, err);
    return rc == 0 ? comm_agree(c->comm, libsvm_rows_put(c, err), err) : rc;
}

static int libsvm_passes(struct libsvm_conversion *c, struct error *err)
{
    bool changed;
    int rc;

    c->block.first = first_feature(c);
    rc = comm_agree(c->comm, line_range_each(&c->range, block_sample, c, err), err);
    if (rc < 0 || columns_agree(c, &changed, err) < 0)
        return -1;
    for (int i = 0; i < PASSES; i++) {
        if (libsvm_pass(c, err) < 0 || columns_agree(c, &changed, err) < 0)
            return -1;
        rc = c->block.query && c->some_without ? no_query(c, err) : 0;
        if (comm_agree(c->comm, rc, err) < 0)
            return -1;
        if (!changed)
            return 0;
    }
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "a file was written to while it was read; start again when it is "
                     "complete");
}

/* ---- The end ---- */

static int libsvm_finish(struct libsvm_conversion *c, struct error *err)
{
    struct frame *rows = &c->block.rows;
    struct frame_column *features = &rows->columns[rows->n_columns - 1];
    int32_t *codes[4] = {NULL};

    features->row.shape[0] =
        c->block.seen.last < 0 ? 0 : c->block.seen.last + 1 - c->block.first;
    return comm_agree(c->comm, c->sink->end(c->arg, rows, codes, err), err);
}

int libsvm_convert(struct comm *comm, const struct text_source sources[], size_t n,
                   const struct libsvm_options *options, const struct row_sink *sink,
                   void *arg, struct error *err)
{
    struct libsvm_conversion c = {
        .comm = comm, .options = options, .sink = sink, .arg = arg};
    int rc = comm_agree(comm, libsvm_block_init(&c.block, err), err);

    if (rc == 0)
        rc = line_range_init(comm, &c.range, sources, n, options->block_bytes, err);
    if (rc == 0)
        rc = line_range_count(comm, &c.range, libsvm_rows, err);
    if (rc == 0)
        rc = libsvm_passes(&c, err);
    if (rc == 0)
        rc = libsvm_finish(&c, err);
    line_range_clear(&c.range);
    libsvm_block_clear(&c.block);
    return rc;
}

/* ---- Index 0 ---- */

static int block_look(void *arg, const struct line_block *block, struct error *err)
{
    struct libsvm_block *b = arg;

    (void)err;
    (void)libsvm_block_parse(b, block->bytes, block->n, false, NULL);
    return b->seen.zero;
}

int libsvm_has_zero(struct comm *comm, const struct text_source sources[], size_t n,
                    bool *zero, struct error *err)
{
    struct libsvm_block block;
    struct line_range range = {0};
    int64_t seen;
    int rc = comm_agree(comm, libsvm_block_init(&block, err), err);

    if (rc == 0)
        rc = line_range_init(comm, &range, sources, n, 0, err);
    if (rc == 0)
        rc = comm_agree(comm, line_range_each(&range, block_look, &block, err), err);
    seen = block.seen.zero;
    if (rc == 0)
        rc = comm->ops->allreduce(comm, &seen, 1, COMM_INT64, COMM_MAX, err);
    *zero = seen != 0;
    line_range_clear(&range);
    libsvm_block_clear(&block);
    return rc;
}
