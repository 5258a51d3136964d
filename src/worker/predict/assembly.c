/*
 * assembly.c - joins the parts of a prediction to one file; each rank writes a range of
 * it. output_part.c reads parts; the format places the streams (predicted.c).
 */
#include "predict/assembly.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predict/output_part.h"
#include "util/fault.h"
#include "util/fs.h"

#define BLOCK_BYTES ((uint64_t)1 << 20)

/* The state of a rank that writes its range. */
struct copy {
    const struct assembly *a;
    struct predicted_layout layout;
    size_t n_streams;
    uint64_t *starts; /* of part i in stream s: [s * (parts + 1) + i]; then the end */
    int in;           /* the file of part `opened`; -1: none */
    uint64_t opened;
    int out;
    char *hidden; /* the name of the file until it is complete */
    unsigned char *block;
};

/* ---- The parts of a stream ---- */

static uint64_t *stream_starts(const struct copy *c, size_t s)
{
    return c->starts + s * (c->a->plan->n + 1);
}

static int starts_make(struct copy *c, struct error *err)
{
    uint64_t parts = c->a->plan->n;

    c->starts = calloc(c->n_streams * (parts + 1), sizeof *c->starts);
    if (!c->starts)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for predictions");
    for (size_t s = 0; s < c->n_streams; s++)
        for (uint64_t i = 0; i < parts; i++)
            stream_starts(c, s)[i + 1] =
                stream_starts(c, s)[i] + c->a->bytes[i * c->n_streams + s];
    return 0;
}

static int layout_make(struct copy *c, struct error *err)
{
    uint64_t *bytes = calloc(c->n_streams, sizeof *bytes);
    int rc;

    if (!bytes)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for predictions");
    for (size_t s = 0; s < c->n_streams; s++)
        bytes[s] = stream_starts(c, s)[c->a->plan->n];
    rc = predicted_layout_make(c->a->predicted, c->a->plan->rows, bytes, &c->layout,
                               err);
    free(bytes);
    return rc;
}

/* The part that has this byte of a stream. */
static uint64_t part_at(const uint64_t *starts, uint64_t parts, uint64_t byte)
{
    uint64_t low = 0, high = parts;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (starts[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- A block ---- */

static int part_switch(struct copy *c, uint64_t part, struct error *err)
{
    if (c->in >= 0 && c->opened == part)
        return 0;
    if (c->in >= 0)
        close(c->in);
    c->opened = part;
    c->in = output_part_open(c->a->parts, part, err);
    return c->in < 0 ? -1 : 0;
}

/* Read n bytes of a stream from byte `from` on, from one or more parts. */
static int stream_read(struct copy *c, size_t s, uint64_t from, uint64_t n,
                       unsigned char *to, struct error *err)
{
    const uint64_t *starts = stream_starts(c, s);
    uint64_t part = part_at(starts, c->a->plan->n, from);

    for (; n > 0; part++) {
        uint64_t in_part = from - starts[part], k = starts[part + 1] - from;
        uint64_t place = output_part_data(c->n_streams) + in_part;

        if (k > n)
            k = n;
        for (size_t before = 0; before < s; before++)
            place += c->a->bytes[part * c->n_streams + before];
        if (k > 0 && part_switch(c, part, err) < 0)
            return -1;
        if (k > 0 && fs_pread_full(c->in, to, k, place) < 0)
            return error_set(err,
                             errno == ENODATA ? RAYTRAIN_ECORRUPT : RAYTRAIN_ESTORAGE,
                             "cannot read part %llu of the predictions in %s: %s",
                             (unsigned long long)part, c->a->parts, strerror(errno));
        from += k;
        to += k;
        n -= k;
    }
    return 0;
}

/* The intersection of the ranges [a, a + n) and [b, b + m). */
static bool overlap(uint64_t a, uint64_t n, uint64_t b, uint64_t m, uint64_t *first,
                    uint64_t *count)
{
    uint64_t end = a + n < b + m ? a + n : b + m;

    *first = a > b ? a : b;
    *count = end > *first ? end - *first : 0;
    return *count > 0;
}

/* Fill the block with the n bytes of the file from `at` on. */
static int block_fill(struct copy *c, uint64_t at, uint64_t n, struct error *err)
{
    uint64_t first, k;

    memset(c->block, 0, n);
    for (size_t i = 0; i < c->layout.n_pieces; i++) {
        const struct predicted_piece *p = &c->layout.pieces[i];

        if (overlap(at, n, p->offset, p->n, &first, &k))
            memcpy(c->block + (first - at), p->data + (first - p->offset), k);
    }
    for (size_t s = 0; s < c->n_streams; s++) {
        uint64_t place = c->layout.places[s],
                 length = stream_starts(c, s)[c->a->plan->n];

        if (overlap(at, n, place, length, &first, &k) &&
            stream_read(c, s, first - place, k, c->block + (first - at), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- The file ---- */

/* DIR/.NAME.partial */
static char *hidden_name(const char *output)
{
    const char *base = strrchr(output, '/');
    char *name;

    base = base ? base + 1 : output;
    return asprintf(&name, "%.*s.%s.partial", (int)(base - output), output, base) < 0
               ? NULL
               : name;
}

/* Rank 0 creates the file with its length; then the others open it. */
static int assembled_file_open(struct copy *c, struct error *err)
{
    bool first = c->a->comm->rank == 0;

    if (!first)
        fs_look_again(c->hidden);
    c->out = open(c->hidden, first ? FS_CREATE | O_TRUNC : FS_CREATE & ~O_CREAT, 0666);
    if (c->out < 0)
        return fs_error(err, first ? "create" : "open", c->hidden);
    if (first && ftruncate(c->out, (off_t)c->layout.length) < 0)
        return fs_error(err, "extend", c->hidden);
    return 0;
}

/* COLLECTIVE */
static int files_open(struct copy *c, struct error *err)
{
    struct comm *comm = c->a->comm;
    int rc = comm->rank == 0 ? assembled_file_open(c, err) : 0;

    if (comm_agree(comm, rc, err) < 0)
        return -1;
    rc = comm->rank == 0 ? 0 : assembled_file_open(c, err);
    return comm_agree(comm, rc, err);
}

/* Write this rank's blocks, and make them durable. */
static int range_write(struct copy *c, struct error *err)
{
    struct comm *comm = c->a->comm;
    uint64_t length = c->layout.length,
             blocks = length / BLOCK_BYTES + (length % BLOCK_BYTES > 0),
             end = predict_cut(blocks, comm->rank + 1, comm->size);

    c->block = malloc(BLOCK_BYTES);
    if (!c->block)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for predictions");
    for (uint64_t i = predict_cut(blocks, comm->rank, comm->size); i < end; i++) {
        uint64_t at = i * BLOCK_BYTES, n = length - at;

        if (n > BLOCK_BYTES)
            n = BLOCK_BYTES;
        if (c->a->goes_on)
            c->a->goes_on(c->a->arg);
        if (block_fill(c, at, n, err) < 0)
            return -1;
        if (fs_pwrite_full(c->out, c->block, n, at) < 0)
            return fs_error(err, "write", c->hidden);
    }
    if (fault_point("predict.assembly", comm->rank) < 0 || fsync(c->out) < 0)
        return fs_error(err, "write", c->hidden);
    return 0;
}

static int publish(const struct copy *c, struct error *err)
{
    if (fault_point("predict.publish", 0) < 0 || rename(c->hidden, c->a->output) < 0)
        return fs_error(err, "rename", c->hidden);
    return fs_sync_parent(c->a->output, err);
}

static void copy_clear(struct copy *c, bool failed)
{
    if (c->in >= 0)
        close(c->in);
    if (c->out >= 0)
        close(c->out);
    if (failed && c->hidden && c->a->comm->rank == 0)
        unlink(c->hidden);
    predicted_layout_clear(&c->layout);
    free(c->hidden);
    free(c->block);
    free(c->starts);
}

static int copy_prepare(struct copy *c, struct error *err)
{
    c->hidden = hidden_name(c->a->output);
    if (!c->hidden)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for predictions");
    if (starts_make(c, err) < 0)
        return -1;
    return layout_make(c, err);
}

int assembly_make(const struct assembly *a, struct error *err)
{
    struct copy c = {
        .a = a, .n_streams = predicted_streams(a->predicted), .in = -1, .out = -1};
    int rc = comm_agree(a->comm, copy_prepare(&c, err), err);

    if (rc == 0)
        rc = files_open(&c, err);
    if (rc == 0)
        rc = comm_agree(a->comm, range_write(&c, err), err);
    if (rc == 0)
        rc = comm_agree(a->comm, a->comm->rank == 0 ? publish(&c, err) : 0, err);
    copy_clear(&c, rc < 0);
    return rc;
}
