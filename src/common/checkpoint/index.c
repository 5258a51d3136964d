/*
 * index.c - parse the tables of a checkpoint, from untrusted bytes to a list of tensors
 * in which every number is within its bounds; find the extents of the metadata.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_impl.h"

/* Add rows x width to *sum; -1 if that exceeds 63 bits. */
static int size_add(uint64_t *sum, uint64_t rows, uint64_t width)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(rows, width, &bytes) ||
        __builtin_add_overflow(*sum, bytes, sum) || *sum > INT64_MAX)
        return -1;
    return 0;
}

int index_bytes(const struct file_head *head, uint64_t *bytes)
{
    *bytes = sizeof(struct report_record);
    if (head->name_bytes == 0 || head->name_bytes > TENSOR_NAME_WIDTH ||
        size_add(bytes, head->n_metrics, sizeof(struct metric_record)) < 0 ||
        size_add(bytes, head->n_tensors,
                 head->name_bytes + sizeof(struct tensor_record)) < 0 ||
        size_add(bytes, head->n_shapes, sizeof(uint64_t)) < 0 ||
        size_add(bytes, head->n_hashes, sizeof(uint64_t)) < 0)
        return -1;
    return 0;
}

/* ---- Report and metrics ---- */

static void report_parse(raytrain_checkpoint *ck, const unsigned char *from)
{
    struct report_record r;

    memcpy(&r, from, sizeof r);
    memcpy(ck->run_name, r.run_name, sizeof ck->run_name);
    ck->run_name[sizeof ck->run_name - 1] = '\0';
    ck->meta.run_name = ck->run_name;
    ck->meta.training_iteration = r.training_iteration;
    ck->meta.timestamp = r.timestamp;
    ck->meta.time_total_s = r.time_total_s;
    ck->meta.world_size = r.world_size;
    ck->meta.attempt = r.attempt;
}

static int metrics_parse(raytrain_checkpoint *ck, const unsigned char *from)
{
    struct checkpoint_metric *metrics = calloc(ck->head.n_metrics + 1, sizeof *metrics);

    if (!metrics)
        return -1;
    for (size_t i = 0; i < ck->head.n_metrics; i++) {
        struct metric_record r;

        memcpy(&r, from + i * sizeof r, sizeof r);
        memcpy(metrics[i].name, r.name, sizeof metrics[i].name);
        metrics[i].name[RAYTRAIN_NAME_MAX] = '\0';
        metrics[i].value = r.value;
    }
    ck->meta.metrics = metrics;
    ck->meta.n_metrics = ck->head.n_metrics;
    return 0;
}

/* ---- Tensors ---- */

static int tensor_fault(const struct tensor_entry *e, const char *what,
                        struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "dataset '%s': %s", e->name, what);
}

/* The table of shapes is read from front to back. */
struct shapes {
    const unsigned char *at;
    uint64_t left; /* numbers */
};

static int dims_take(struct shapes *from, int ndim, uint64_t extents[RAYTRAIN_MAX_DIMS])
{
    if (from->left < (uint64_t)ndim)
        return -1;
    memcpy(extents, from->at, (size_t)ndim * sizeof *extents);
    from->at += (size_t)ndim * sizeof *extents;
    from->left -= (uint64_t)ndim;
    return 0;
}

/* One row. Refuses numbers that contradict each other or the head. */
static int tensor_fill(struct tensor_entry *e, const struct tensor_record *r,
                       struct shapes *shapes, const struct file_head *head,
                       struct error *err)
{
    e->dtype = r->dtype;
    e->element_bytes = entry_dtype_size(r->dtype);
    if (e->element_bytes == 0)
        return tensor_fault(e, "unknown element type", err);
    if (r->ndim > RAYTRAIN_MAX_DIMS || (r->dtype == DTYPE_STRING && r->ndim != 1))
        return tensor_fault(e, "impossible number of dimensions", err);
    e->ndim = (int)r->ndim;
    if (dims_take(shapes, e->ndim, e->shape) < 0)
        return tensor_fault(e, "its shape is missing", err);
    if (slab_tensor_bytes(e->ndim, e->shape, e->element_bytes, &e->bytes) < 0)
        return tensor_fault(e, "its size does not fit 63 bits", err);
    if (e->bytes == 0 && r->dtype == DTYPE_STRING)
        return tensor_fault(e, "a string without a terminating NUL", err);
    if (e->bytes > 0 && (r->offset < HEAD_BYTES || r->offset > head->file_bytes ||
                         e->bytes > head->file_bytes - r->offset))
        return tensor_fault(e, "it exceeds the file", err);
    if (r->by_parts > 1 ||
        (r->by_parts && (head->version == FORMAT_OLDEST || r->n_parts == 0)))
        return tensor_fault(e, "impossible order of its parts", err);
    e->offset = r->offset;
    e->by_parts = r->by_parts;
    return 0;
}

/* ---- Parts ---- */

static int parts_grow(raytrain_checkpoint *ck, size_t *room)
{
    size_t want = *room ? 2 * *room : ck->head.n_tensors + 1;
    struct part *parts;

    if (ck->n_parts < *room)
        return 0;
    parts = realloc(ck->parts, want * sizeof *parts);
    if (!parts)
        return -1;
    ck->parts = parts;
    *room = want;
    return 0;
}

/* Append a part of tensor e; its hashes are the next ones in the table. */
static int part_add(raytrain_checkpoint *ck, const struct tensor_entry *e,
                    const raytrain_slab *slab, uint64_t *at, uint64_t *next_hash,
                    size_t *room, struct error *err)
{
    struct slab_stream stream;
    uint64_t n_hashes;

    if (slab_check(e->ndim, e->shape, slab, NULL) < 0 || slab_is_empty(e->ndim, slab))
        return tensor_fault(e, "a part of it exceeds its shape", err);
    slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, slab);
    n_hashes = chunks_of(stream.bytes, ck->head.chunk_bytes);
    if (n_hashes > ck->head.n_hashes - *next_hash)
        return tensor_fault(e, "it has no checksums", err);
    if (parts_grow(ck, room) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    ck->parts[ck->n_parts++] = (struct part){.tensor = (uint64_t)(e - ck->tensors),
                                             .slab = *slab,
                                             .at = *at,
                                             .first_hash = *next_hash,
                                             .n_hashes = n_hashes};
    *at += stream.bytes; /* if it wraps around, the parts overlap, and are refused */
    *next_hash += n_hashes;
    return 0;
}

/* The parts must cover the tensor exactly once. */
static int parts_cover(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                       struct error *err)
{
    struct rank_slab *slabs = calloc(e->n_parts + 1, sizeof *slabs);
    int rc = 0;

    if (!slabs)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (uint64_t k = 0; k < e->n_parts; k++)
        slabs[k].slab = ck->parts[e->first_part + k].slab;
    if (slab_cover(e->name, e->ndim, e->shape, slabs, e->n_parts, NULL) < 0)
        rc = tensor_fault(e, "its parts do not cover its shape", err);
    free(slabs);
    return rc;
}

/* Each part has at least one checksum, so their number is bounded by the length of the
 * file, whatever a row says. */
static int parts_fill(raytrain_checkpoint *ck, struct tensor_entry *e, uint32_t n_parts,
                      struct shapes *shapes, uint64_t *next_hash, size_t *room,
                      struct error *err)
{
    raytrain_slab slab;
    uint64_t at = 0;

    e->sharded = n_parts > 0;
    e->first_part = ck->n_parts;
    if (e->bytes == 0 && n_parts > 0)
        return tensor_fault(e, "it is empty and has parts", err);
    if (e->bytes == 0)
        return 0;
    slab_whole(e->ndim, e->shape, &slab);
    if (n_parts == 0 && part_add(ck, e, &slab, &at, next_hash, room, err) < 0)
        return -1;
    for (uint32_t k = 0; k < n_parts; k++) {
        if (dims_take(shapes, e->ndim, slab.start) < 0 ||
            dims_take(shapes, e->ndim, slab.count) < 0)
            return tensor_fault(e, "its parts are missing", err);
        if (part_add(ck, e, &slab, &at, next_hash, room, err) < 0)
            return -1;
    }
    e->n_parts = ck->n_parts - e->first_part;
    return parts_cover(ck, e, err);
}

/* ---- All tensors ---- */

static struct tensor_entry *tensor_name(raytrain_checkpoint *ck, const char *name,
                                        struct error *err)
{
    struct tensor_entry *e;

    if (strnlen(name, ck->head.name_bytes) == ck->head.name_bytes) {
        error_set(err, RAYTRAIN_ECORRUPT,
                  "the name of a dataset has no terminating NUL");
        return NULL;
    }
    e = entry_add(ck, strdup(name), err);
    if (!e && err && err->code != RAYTRAIN_ENOMEM)
        err->code = RAYTRAIN_ECORRUPT;
    return e;
}

/* All rows, shapes and hashes must be used: then exactly one hash covers each byte of
 * each tensor. */
static int tensors_parse(raytrain_checkpoint *ck, const unsigned char *rows,
                         const unsigned char *shapes_from, struct error *err)
{
    size_t width = ck->head.name_bytes, room = 0;
    struct shapes shapes = {shapes_from, ck->head.n_shapes};
    uint64_t next_hash = 0;

    for (uint64_t i = 0; i < ck->head.n_tensors; i++) {
        const unsigned char *row = rows + i * (width + sizeof(struct tensor_record));
        struct tensor_entry *e = tensor_name(ck, (const char *)row, err);
        struct tensor_record r;

        memcpy(&r, row + width, sizeof r);
        if (!e || tensor_fill(e, &r, &shapes, &ck->head, err) < 0 ||
            parts_fill(ck, e, r.n_parts, &shapes, &next_hash, &room, err) < 0)
            return -1;
    }
    if (shapes.left > 0 || next_hash != ck->head.n_hashes)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "some shapes or checksums belong to no dataset");
    return 0;
}

/* ---- Metadata ---- */

static int extent_compare(const void *a, const void *b)
{
    const struct extent *p = a, *q = b;

    return (p->start > q->start) - (p->start < q->start);
}

int metadata_extents(const raytrain_checkpoint *ck, uint64_t file_bytes,
                     struct extent **extents, size_t *n, struct error *err)
{
    struct extent *used = calloc(ck->n_tensors + 1, sizeof *used);
    struct extent *out = calloc(ck->n_tensors + 1, sizeof *out);
    uint64_t at = HEAD_BYTES;
    size_t n_used = 0, n_out = 0;
    int rc = 0;

    if (!used || !out)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];

        if (e->bytes == 0)
            continue;
        if (e->offset > file_bytes || e->bytes > file_bytes - e->offset)
            rc = error_set(err, RAYTRAIN_ECORRUPT, "dataset '%s' exceeds the file",
                           e->name);
        used[n_used++] = (struct extent){e->offset, e->offset + e->bytes};
    }
    if (rc == 0 && n_used > 1)
        qsort(used, n_used, sizeof *used, extent_compare);
    for (size_t i = 0; rc == 0 && i < n_used; i++) {
        if (used[i].start < at)
            rc = error_set(err, RAYTRAIN_ECORRUPT, "datasets overlap in the file");
        else if (used[i].start > at)
            out[n_out++] = (struct extent){at, used[i].start};
        at = used[i].end;
    }
    if (rc == 0 && at < file_bytes)
        out[n_out++] = (struct extent){at, file_bytes};
    free(used);
    if (rc < 0) {
        free(out);
        return -1;
    }
    *extents = out;
    *n = n_out;
    return 0;
}

/* ---- The whole index ---- */

int index_parse(raytrain_checkpoint *ck, const void *tables, uint64_t n,
                struct error *err)
{
    const unsigned char *at = tables, *shapes;
    uint64_t want;

    if (index_bytes(&ck->head, &want) < 0 || want != n || ck->head.chunk_bytes == 0)
        return error_set(err, RAYTRAIN_ECORRUPT, "the sizes of its tables are invalid");
    report_parse(ck, at);
    at += sizeof(struct report_record);
    if (metrics_parse(ck, at) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    at += ck->head.n_metrics * sizeof(struct metric_record);
    shapes =
        at + ck->head.n_tensors * (ck->head.name_bytes + sizeof(struct tensor_record));
    if (tensors_parse(ck, at, shapes, err) < 0)
        return -1;
    at = shapes + ck->head.n_shapes * sizeof(uint64_t);
    ck->hashes = calloc(ck->head.n_hashes + 1, sizeof *ck->hashes);
    if (!ck->hashes)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    memcpy(ck->hashes, at, ck->head.n_hashes * sizeof *ck->hashes);
    return 0;
}
