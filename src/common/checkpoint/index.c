/*
 * index.c - parse the tables of a checkpoint, from untrusted bytes to a list of tensors
 * in which every number is within its bounds; find the extents of the metadata.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/index.h"
#include "checkpoint/part_reader.h"
#include "util/array.h"

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
    uint64_t others = 0;

    *bytes = sizeof(struct report_record);
    if (head->name_bytes == 0 || head->name_bytes > TENSOR_NAME_WIDTH ||
        size_add(bytes, head->n_metrics, sizeof(struct metric_record)) < 0 ||
        size_add(bytes, head->n_tensors,
                 head->name_bytes + sizeof(struct tensor_record)) < 0 ||
        size_add(&others, head->n_shapes, sizeof(uint64_t)) < 0 ||
        size_add(&others, head->n_hashes, sizeof(uint64_t)) < 0)
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

/* One row. Refuses numbers that contradict each other or the head. */
static int tensor_fill(struct tensor_entry *e, const struct tensor_record *r,
                       struct part_reader *reader, struct error *err)
{
    const struct file_head *head = &reader->ck->head;

    e->dtype = r->dtype;
    e->element_bytes = entry_dtype_size(r->dtype);
    if (e->element_bytes == 0)
        return tensor_fault(reader->ck, e, "unknown element type", err);
    if (r->ndim > RAYTRAIN_MAX_DIMS || (r->dtype == DTYPE_STRING && r->ndim != 1))
        return tensor_fault(reader->ck, e, "impossible number of dimensions", err);
    e->ndim = (int)r->ndim;
    if (part_reader_shape(reader, e, e->shape, err) < 0)
        return -1;
    if (slab_tensor_bytes(e->ndim, e->shape, e->element_bytes, &e->bytes) < 0)
        return tensor_fault(reader->ck, e, "its size does not fit 63 bits", err);
    if (e->bytes == 0 && r->dtype == DTYPE_STRING)
        return tensor_fault(reader->ck, e, "a string without a terminating NUL", err);
    if (e->bytes > 0 && (r->offset < HEAD_BYTES || r->offset > head->file_bytes ||
                         e->bytes > head->file_bytes - r->offset))
        return tensor_fault(reader->ck, e, "it exceeds the file", err);
    if (r->by_parts > 1 ||
        (r->by_parts && (head->version == FORMAT_OLDEST || r->n_parts == 0)))
        return tensor_fault(reader->ck, e, "impossible order of its parts", err);
    e->offset = r->offset;
    e->by_parts = r->by_parts;
    return 0;
}

/* ---- Parts ---- */

/* Data about the parts while the tables are parsed: the slabs of one tensor at a time,
 * and the parts of those tensors that are read by means of them. */
struct parts {
    struct rank_slab *slabs;
    size_t n, room, kept_room;
};

static int part_keep(raytrain_checkpoint *ck, const struct tensor_entry *e,
                     const struct part *part, struct parts *parts)
{
    if (array_grow(&parts->slabs, &parts->room, parts->n, sizeof *parts->slabs) < 0)
        return -1;
    parts->slabs[parts->n++] = (struct rank_slab){.slab = part->slab};
    if (!e->by_parts || ck->without_parts)
        return 0;
    if (array_grow(&ck->parts, &parts->kept_room, ck->n_parts, sizeof *ck->parts) < 0)
        return -1;
    ck->parts[ck->n_parts++] = *part;
    return 0;
}

/* The parts must cover the tensor exactly once. Each part has at least one checksum, so
 * their number is bounded by the length of the file, whatever a row says. */
static int parts_fill(raytrain_checkpoint *ck, struct tensor_entry *e, uint32_t n_parts,
                      struct part_reader *reader, struct parts *parts,
                      struct error *err)
{
    e->sharded = n_parts > 0;
    e->first_part = ck->n_parts;
    if (e->bytes == 0 && n_parts > 0)
        return tensor_fault(ck, e, "it is empty and has parts", err);
    if (e->bytes == 0)
        return 0;
    e->n_parts = n_parts > 0 ? n_parts : 1;
    parts->n = 0;
    for (uint64_t k = 0; k < e->n_parts; k++) {
        struct part part;

        if (part_reader_part(reader, e, &part, err) < 0)
            return -1;
        if (part_keep(ck, e, &part, parts) < 0)
            return error_no_memory(err);
    }
    if (slab_cover(e->name, e->ndim, e->shape, parts->slabs, parts->n, NULL) < 0)
        return tensor_fault(ck, e, "its parts do not cover its shape", err);
    return 0;
}

/* ---- All tensors ---- */

static struct tensor_entry *tensor_name(raytrain_checkpoint *ck, const char *name,
                                        struct error *err)
{
    struct tensor_entry *e;

    if (strnlen(name, ck->head.name_bytes) == ck->head.name_bytes) {
        error_set(err, RAYTRAIN_ECORRUPT,
                  "%s: the name of a dataset has no terminating NUL", ck->path);
        return NULL;
    }
    e = entry_add(ck, strdup(name), err);
    if (!e && err && err->code != RAYTRAIN_ENOMEM) {
        error_prefix(err, "%s", ck->path);
        err->code = RAYTRAIN_ECORRUPT;
    }
    return e;
}

/* All rows, shapes and hashes must be used: then exactly one hash covers each byte of
 * each tensor. */
static int rows_parse(raytrain_checkpoint *ck, const unsigned char *row,
                      struct part_reader *reader, struct parts *parts,
                      struct error *err)
{
    size_t width = ck->head.name_bytes;
    struct tensor_record r;

    for (uint64_t i = 0; i < ck->head.n_tensors; i++, row += width + sizeof r) {
        struct tensor_entry *e = tensor_name(ck, (const char *)row, err);

        memcpy(&r, row + width, sizeof r);
        if (!e || tensor_fill(e, &r, reader, err) < 0 ||
            parts_fill(ck, e, r.n_parts, reader, parts, err) < 0)
            return -1;
    }
    if (reader->next != ck->head.n_shapes || reader->hash != ck->head.n_hashes)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: some shapes or checksums belong to no dataset", ck->path);
    return 0;
}

static int tensors_parse(raytrain_checkpoint *ck, const unsigned char *rows,
                         struct error *err)
{
    struct parts parts = {0};
    struct part_reader reader;
    int rc;

    ck->shape_sums = calloc(table_blocks(ck->head.n_shapes), sizeof *ck->shape_sums);
    if (!ck->shape_sums)
        return error_no_memory(err);
    part_reader_start(&reader, ck);
    reader.opening = true;
    rc = rows_parse(ck, rows, &reader, &parts, err);
    free(parts.slabs);
    return rc;
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
        rc = error_no_memory(err);
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
    const unsigned char *at = tables;
    uint64_t want;

    if (index_bytes(&ck->head, &want) < 0 || want != n || ck->head.chunk_bytes == 0)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: the sizes of its tables are invalid", ck->path);
    report_parse(ck, at);
    at += sizeof(struct report_record);
    if (metrics_parse(ck, at) < 0)
        return error_no_memory(err);
    at += ck->head.n_metrics * sizeof(struct metric_record);
    return tensors_parse(ck, at, err);
}
