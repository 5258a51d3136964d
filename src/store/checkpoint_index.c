/*
 * checkpoint_index.c - the tables of a checkpoint, from bytes that nobody vouches for
 * yet to a list of tensors whose every number is within its bounds.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/checkpoint_impl.h"

/* rows x width is added to *sum, unless that leaves 63 bits. */
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
        size_add(bytes, head->n_parts, sizeof(struct part_record)) < 0 ||
        size_add(bytes, head->n_hashes, sizeof(uint64_t)) < 0)
        return -1;
    return 0;
}

/* ---- Report and metrics -----------------------------------------------------------
 */

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

/* ---- Tensors ----------------------------------------------------------------------
 */

static int tensor_fault(const struct tensor_entry *e, const char *what,
                        struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "dataset '%s': %s", e->name, what);
}

/* One row: numbers that contradict each other, or the head, are refused. */
static int tensor_fill(struct tensor_entry *e, const struct tensor_record *r,
                       const struct file_head *head, struct error *err)
{
    uint64_t bytes;

    e->dtype = r->dtype;
    e->element_bytes = entry_dtype_size(r->dtype);
    if (e->element_bytes == 0)
        return tensor_fault(e, "unknown element type", err);
    if (r->ndim > RAYTRAIN_MAX_DIMS || (r->dtype == DTYPE_STRING && r->ndim != 1))
        return tensor_fault(e, "impossible number of dimensions", err);
    e->ndim = (int)r->ndim;
    memcpy(e->shape, r->shape, sizeof e->shape);
    if (slab_tensor_bytes(e->ndim, e->shape, e->element_bytes, &bytes) < 0 ||
        bytes != r->bytes)
        return tensor_fault(e, "its size does not follow from its shape", err);
    if (bytes == 0 && r->dtype == DTYPE_STRING)
        return tensor_fault(e, "a string without an end", err);
    if (bytes > 0 && (r->offset < HEAD_BYTES || r->offset > head->file_bytes ||
                      bytes > head->file_bytes - r->offset))
        return tensor_fault(e, "it leaves the file", err);
    if (r->first_part > head->n_parts || r->n_parts > head->n_parts - r->first_part)
        return tensor_fault(e, "it has parts that there are not", err);
    e->bytes = bytes;
    e->offset = r->offset;
    e->first_part = r->first_part;
    e->n_parts = r->n_parts;
    return 0;
}

static int tensors_parse(raytrain_checkpoint *ck, const unsigned char *from,
                         struct error *err)
{
    size_t width = ck->head.name_bytes;

    for (uint64_t i = 0; i < ck->head.n_tensors; i++) {
        const char *name =
            (const char *)from + i * (width + sizeof(struct tensor_record));
        struct tensor_record r;
        struct tensor_entry *e;

        if (strnlen(name, width) == width)
            return error_set(err, RAYTRAIN_ECORRUPT, "a dataset's name has no end");
        e = entry_add(ck, strdup(name), err);
        if (!e) {
            if (err && err->code != RAYTRAIN_ENOMEM)
                err->code = RAYTRAIN_ECORRUPT;
            return -1;
        }
        memcpy(&r, name + width, sizeof r);
        if (tensor_fill(e, &r, &ck->head, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Parts ------------------------------------------------------------------------
 */

static int part_check(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                      uint64_t number, struct slab_piece *piece, uint64_t *next_hash,
                      struct error *err)
{
    const struct part_record *p = &ck->parts[number];
    struct slab_runs runs;

    if (&ck->tensors[p->tensor] != e)
        return tensor_fault(e, "a part of it belongs to another one", err);
    memset(piece, 0, sizeof *piece);
    memcpy(piece->slab.start, p->start, sizeof p->start);
    memcpy(piece->slab.count, p->count, sizeof p->count);
    if (slab_check(e->ndim, e->shape, &piece->slab, NULL) < 0 ||
        slab_is_empty(e->ndim, &piece->slab))
        return tensor_fault(e, "a part of it leaves its shape", err);
    slab_runs_init(&runs, e->ndim, e->shape, e->element_bytes, &piece->slab);
    if (p->first_hash != *next_hash || p->first_hash > ck->head.n_hashes ||
        p->n_hashes > ck->head.n_hashes - p->first_hash ||
        p->n_hashes != chunks_of(runs.bytes, ck->head.chunk_bytes))
        return tensor_fault(e, "its checksums are not where they should be", err);
    *next_hash += p->n_hashes;
    return 0;
}

/* Parts come in the order of tensors, hashes in the order of parts, and there are none
 * besides: so each byte of each tensor is under exactly one hash. */
static int parts_check(const raytrain_checkpoint *ck, struct error *err)
{
    struct slab_piece *pieces = calloc(ck->head.n_parts + 1, sizeof *pieces);
    uint64_t next_part = 0, next_hash = 0;
    int rc = pieces ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];

        if (e->first_part != next_part)
            rc = tensor_fault(e, "its parts are not where they should be", err);
        for (uint64_t k = 0; rc == 0 && k < e->n_parts; k++)
            rc = part_check(ck, e, next_part + k, &pieces[k], &next_hash, err);
        next_part += e->n_parts;
        if (rc == 0 && slab_cover(e->name, e->ndim, e->shape, pieces,
                                  e->bytes ? e->n_parts : 0, NULL) < 0)
            rc = tensor_fault(e, "its parts do not make up its shape", err);
    }
    free(pieces);
    if (rc == 0 && (next_part != ck->head.n_parts || next_hash != ck->head.n_hashes))
        rc =
            error_set(err, RAYTRAIN_ECORRUPT, "there are parts that belong to nothing");
    return rc;
}

static int parts_parse(raytrain_checkpoint *ck, const unsigned char *from,
                       struct error *err)
{
    ck->parts = calloc(ck->head.n_parts + 1, sizeof *ck->parts);
    if (!ck->parts)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    memcpy(ck->parts, from, ck->head.n_parts * sizeof *ck->parts);
    for (uint64_t i = 0; i < ck->head.n_parts; i++)
        if (ck->parts[i].tensor >= ck->n_tensors)
            return error_set(err, RAYTRAIN_ECORRUPT, "a part belongs to no dataset");
    return parts_check(ck, err);
}

/* ---- All of it --------------------------------------------------------------------
 */

int index_parse(raytrain_checkpoint *ck, const void *tables, uint64_t n,
                struct error *err)
{
    const unsigned char *at = tables;
    uint64_t want;

    if (index_bytes(&ck->head, &want) < 0 || want != n || ck->head.chunk_bytes == 0)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "the sizes of its tables make no sense");
    report_parse(ck, at);
    at += sizeof(struct report_record);
    if (metrics_parse(ck, at) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    at += ck->head.n_metrics * sizeof(struct metric_record);
    if (tensors_parse(ck, at, err) < 0)
        return -1;
    at += ck->head.n_tensors * (ck->head.name_bytes + sizeof(struct tensor_record));
    /* parts_check() asks for as many hashes as there are; they come with the tables. */
    if (parts_parse(ck, at, err) < 0)
        return -1;
    at += ck->head.n_parts * sizeof(struct part_record);
    ck->hashes = calloc(ck->head.n_hashes + 1, sizeof *ck->hashes);
    if (!ck->hashes)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    memcpy(ck->hashes, at, ck->head.n_hashes * sizeof *ck->hashes);
    return 0;
}
