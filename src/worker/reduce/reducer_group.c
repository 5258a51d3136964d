/*
 * reducer_group.c - the transport of gradients on GPUs that form a group
 * (device/group.h): buckets are reduced by the library of the GPUs, in place and
 * without host memory.
 *
 * The host queues a bucket once all of its gradients are complete, and continues. The
 * group's stream comes after the caller's at each ready(), and the caller's after the
 * group's at the end of a step. So this process waits neither for the GPU nor for other
 * ranks.
 *
 * Tensors that are not adjacent are combined one by one, in one call of the library,
 * except in a sharded bucket. The parameters of a sharded bucket are copied between
 * ranks at once if they lie in memory as its gradients do, else one by one.
 */
#include <stdlib.h>

#include "device/stream.h"
#include "reduce/reducer_impl.h"

struct grouped {
    struct device_stream *stream; /* for memory only */
    void *device_memory;          /* for tensors without memory of their own */
    struct device_span *spans;    /* the tensors of one bucket */
    size_t *cuts;  /* for one tensor, or for the parameters of a bucket */
    char **params; /* for each bucket: where its parameters begin; NULL: one by one */
};

static int grouped_open(raytrain_reducer *r, struct error *err)
{
    struct grouped *g = r->grouped = calloc(1, sizeof *g);

    if (g) {
        g->spans = calloc(r->n, sizeof *g->spans);
        g->cuts = calloc((size_t)r->comm->size + 1, sizeof *g->cuts);
        g->params = calloc(r->n_buckets, sizeof *g->params);
    }
    if (!g || !g->spans || !g->cuts || !g->params)
        return error_no_memory(err);
    return device_stream_create(r->device, r->device_id, &g->stream, err);
}

static int group_place_tensors(raytrain_reducer *r, struct error *err)
{
    size_t bytes = tensors_place(r, NULL);
    int rc = grouped_open(r, err);

    if (rc == 0 && bytes > 0)
        rc = device_memory_alloc(r->grouped->stream, bytes, &r->grouped->device_memory,
                                 err);
    if (rc == 0)
        tensors_place(r, r->grouped->device_memory);
    return comm_agree(r->comm, rc, err);
}

/* ---- The steps of a bucket ---- */

static int group_ready(raytrain_reducer *r, struct error *err)
{
    return device_group_begin(r->group, err);
}

static raytrain_dtype bucket_dtype(const raytrain_reducer *r, const struct bucket *b)
{
    return r->tensors[b->first].dtype;
}

static int bucket_allreduce(raytrain_reducer *r, const struct bucket *b,
                            struct error *err)
{
    struct device_span *spans = r->grouped->spans;
    size_t n = 0;

    if (b->span)
        spans[n++] = (struct device_span){b->span, b->elements};
    for (size_t i = b->first; !b->span && i < b->first + b->n; i++)
        spans[n++] =
            (struct device_span){r->tensors[i].data, gradient_elements(&r->tensors[i])};
    return device_group_allreduce(r->group, spans, n, bucket_dtype(r, b), RAYTRAIN_MEAN,
                                  err);
}

/* The parts of a gradient are those of its parameter, which are in bytes. */
static int tensor_reduce_parts(raytrain_reducer *r, size_t i, struct error *err)
{
    size_t width = raytrain_dtype_size(r->tensors[r->n + i].dtype);

    for (int k = 0; k <= r->comm->size; k++)
        r->grouped->cuts[k] = r->parts[i].cuts[k] / width;
    return device_group_reduce_parts(r->group, r->tensors[i].data, r->grouped->cuts,
                                     r->tensors[i].dtype, RAYTRAIN_MEAN, err);
}

static int bucket_reduce_parts(raytrain_reducer *r, const struct bucket *b,
                               struct error *err)
{
    if (b->span)
        return device_group_reduce_parts(r->group, b->span, b->cuts, bucket_dtype(r, b),
                                         RAYTRAIN_MEAN, err);
    for (size_t i = b->first; i < b->first + b->n; i++)
        if (gradient_elements(&r->tensors[i]) > 0 && tensor_reduce_parts(r, i, err) < 0)
            return -1;
    return 0;
}

static int group_start(raytrain_reducer *r, struct bucket *b, bool *started,
                       struct error *err)
{
    *started = b->finished = true;
    return b->cuts ? bucket_reduce_parts(r, b, err) : bucket_allreduce(r, b, err);
}

/* Does not wait: a failure on any rank is seen in one of the next steps. */
static int reducer_group_settle(raytrain_reducer *r, struct error *err)
{
    return device_group_check(r->group, err) < 0 ? -1 : device_group_end(r->group, err);
}

/* ---- Parameters ---- */

static const raytrain_tensor *param_of(const raytrain_reducer *r, size_t i)
{
    return &r->tensors[r->n + i];
}

/* Where the parameters of a bucket begin, if they are one piece of memory, of one type,
 * and in the order of the gradients; else NULL. */
static int params_find(const raytrain_reducer *r, const struct bucket *b, char **start,
                       struct error *err)
{
    size_t width = raytrain_dtype_size(param_of(r, b->first)->dtype);
    bool is_one = false;
    char *base = NULL;

    *start = NULL;
    for (size_t i = b->first; i < b->first + b->n; i++) {
        const raytrain_tensor *t = param_of(r, i);
        char *begin = (char *)t->data - r->offsets[i] * width;

        if (t->dtype != param_of(r, b->first)->dtype)
            return 0;
        if (gradient_elements(t) == 0)
            continue;
        if (base && begin != base)
            return 0;
        base = begin;
    }
    if (tensors_are_one(r, base, b->elements * width, &is_one, err) < 0)
        return -1;
    *start = is_one ? base : NULL;
    return 0;
}

static bool is_sharded(const raytrain_reducer *r, const struct bucket *b)
{
    return b->first < r->n_params && b->elements > 0;
}

/* Which buckets have their parameters in one piece, on all ranks? */
static int group_place_params(raytrain_reducer *r, struct error *err)
{
    int64_t *lanes = calloc(r->n_buckets, sizeof *lanes);
    char **params = r->grouped->params;
    int rc = lanes ? 0 : error_no_memory(err);

    for (size_t k = 0; rc == 0 && k < r->n_buckets; k++) {
        if (is_sharded(r, &r->buckets[k]))
            rc = params_find(r, &r->buckets[k], &params[k], err);
        lanes[k] = params[k] != NULL;
    }
    rc = comm_agree(r->comm, rc, err);
    if (rc == 0)
        rc = r->comm->ops->allreduce(r->comm, lanes, r->n_buckets, COMM_INT64, COMM_MIN,
                                     err);
    for (size_t k = 0; rc == 0 && k < r->n_buckets; k++)
        if (!lanes[k])
            params[k] = NULL;
    free(lanes);
    return rc;
}

static int bucket_gather(raytrain_reducer *r, const struct bucket *b, char *params,
                         struct error *err)
{
    size_t width = raytrain_dtype_size(param_of(r, b->first)->dtype);

    if (params) {
        for (int k = 0; k <= r->comm->size; k++)
            r->grouped->cuts[k] = b->cuts[k] * width;
        return device_group_allgather_parts(r->group, params, r->grouped->cuts, err);
    }
    for (size_t i = b->first; i < b->first + b->n; i++)
        if (r->parts[i].cuts[r->comm->size] > 0 &&
            device_group_allgather_parts(r->group, r->parts[i].data, r->parts[i].cuts,
                                         err) < 0)
            return -1;
    return 0;
}

static int group_gather(raytrain_reducer *r, struct error *err)
{
    if (device_group_begin(r->group, err) < 0)
        return -1;
    for (size_t k = 0; k < r->n_buckets; k++)
        if (is_sharded(r, &r->buckets[k]) &&
            bucket_gather(r, &r->buckets[k], r->grouped->params[k], err) < 0)
            return -1;
    return reducer_group_settle(r, err);
}

/* ---- The end ---- */

/* Does not wait, since in the middle of a step other ranks may never queue what this
 * one has queued. */
static bool group_close(raytrain_reducer *r, bool idle)
{
    struct grouped *g = r->grouped;

    if (r->broken || r->due > 0)
        device_group_abort(r->group);
    device_group_destroy(r->group);
    r->group = NULL;
    if (!g)
        return idle;
    if (g->device_memory)
        device_memory_free(g->stream, g->device_memory);
    device_stream_destroy(g->stream);
    free(g->spans);
    free(g->cuts);
    free(g->params);
    free(g);
    r->grouped = NULL;
    return idle;
}

const struct reducer_transport reducer_group = {
    .place_tensors = group_place_tensors,
    .place_params = group_place_params,
    .ready = group_ready,
    .start = group_start,
    .settle = reducer_group_settle,
    .gather = group_gather,
    .close = group_close,
};
