/* lines.c - converts each line to a row. line_range.c divides lines among ranks. */
#include "text/lines.h"

#include <string.h>

#include "text/line_range.h"

struct lines_conversion {
    const struct row_sink *sink;
    void *arg;
    struct line_range range;
    struct frame rows;
    uint64_t row; /* the next row of this rank */
};

static uint64_t newlines_count(const char *bytes, size_t n)
{
    const char *end = bytes + n;
    uint64_t lines = 0;

    for (const char *at = bytes; at < end; lines++) {
        const char *last = memchr(at, '\n', (size_t)(end - at));

        at = last ? last + 1 : end;
    }
    return lines;
}

/* Turn the lines of a block into rows of a column, which has memory for them. */
static void lines_split(struct frame *rows, const char *bytes, size_t n)
{
    struct frame_column *c = &rows->columns[0];
    const char *end = bytes + n;

    c->offsets[0] = c->n_data = rows->rows = 0;
    for (const char *at = bytes, *next; at < end; at = next) {
        const char *last = memchr(at, '\n', (size_t)(end - at));

        next = last ? last + 1 : end;
        if (!last)
            last = end;
        else if (last > at && last[-1] == '\r')
            last--;
        memcpy(c->data + c->n_data, at, (size_t)(last - at));
        c->n_data += (size_t)(last - at);
        c->offsets[++rows->rows] = c->n_data;
    }
}

static int lines_block_put(void *arg, const struct line_block *block, struct error *err)
{
    struct lines_conversion *c = arg;
    uint64_t first = c->row, n = newlines_count(block->bytes, block->n);

    if (line_range_take(&c->range, &c->row, n, block, err) < 0 ||
        frame_reserve(&c->rows.columns[0], n, block->n, err) < 0)
        return -1;
    lines_split(&c->rows, block->bytes, block->n);
    return c->sink->put(c->arg, first, &c->rows, err);
}

/* COLLECTIVE: put all lines, which have been counted. */
static int lines_put(struct comm *comm, struct lines_conversion *c, struct error *err)
{
    int32_t *codes[] = {NULL};
    int rc = c->sink->begin(c->arg, &c->rows, c->range.rows, err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm_agree(
            comm, line_range_rows(&c->range, lines_block_put, c, &c->row, err), err);
    c->rows.rows = 0;
    return rc == 0 ? comm_agree(comm, c->sink->end(c->arg, &c->rows, codes, err), err)
                   : rc;
}

int lines_convert(struct comm *comm, const struct text_source sources[], size_t n,
                  size_t block_bytes, const struct row_sink *sink, void *arg,
                  struct error *err)
{
    struct lines_conversion c = {.sink = sink, .arg = arg, .rows = FRAME_INIT};
    struct frame_column text = {.name = "text", .kind = FRAME_TEXT};
    size_t index;
    int rc = comm_agree(comm, frame_add(&c.rows, &text, &index, err), err);

    if (rc == 0)
        rc = line_range_init(comm, &c.range, sources, n, block_bytes, err);
    if (rc == 0)
        rc = line_range_count(comm, &c.range, newlines_count, err);
    if (rc == 0)
        rc = lines_put(comm, &c, err);
    line_range_clear(&c.range);
    frame_clear(&c.rows);
    return rc;
}
