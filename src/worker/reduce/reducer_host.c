/*
 * reducer_host.c - the transport of gradients in host memory: buckets are reduced by
 * the communicator, in place if their tensors are adjacent.
 *
 * Tensors without memory of their own get memory of the communicator, which is reduced
 * without messages if the ranks share a node.
 */
#include <stdlib.h>
#include <string.h>

#include "reduce/reducer_impl.h"

/* ---- Memory ---- */

/* Lay out what the communicator provides: tensors, then buckets of widened numbers.
 * Returns the bytes; base is NULL to count them only. */
static size_t memory_lay(raytrain_reducer *r, char *base)
{
    size_t at = tensors_place(r, base);

    for (size_t i = 0; r->comm->size > 1 && i < r->n_buckets; i++) {
        struct bucket *b = &r->buckets[i];

        if (!b->type->widen)
            continue;
        at = reducer_aligned(at);
        b->data = base ? base + at : NULL;
        at += b->elements * comm_type_size(b->type->type);
    }
    return at;
}

static int host_place_tensors(raytrain_reducer *r, struct error *err)
{
    void *memory;

    if (r->comm->ops->alloc(r->comm, COMM_HOST, memory_lay(r, NULL), &memory, err) < 0)
        return -1;
    memory_lay(r, memory);
    return 0;
}

static int host_place_buckets(raytrain_reducer *r, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->n_buckets; i++) {
        struct bucket *b = &r->buckets[i];

        if (b->span)
            b->data = b->span;
        else if (b->elements > 0 && !b->data)
            b->data = b->owned = calloc(b->elements, comm_type_size(b->type->type));
        if (b->elements > 0 && !b->data)
            rc = error_no_memory(err);
    }
    return comm_agree(r->comm, rc, err);
}

static bool host_close(raytrain_reducer *r, bool idle)
{
    for (size_t i = 0; r->buckets && idle && i < r->n_buckets; i++)
        free(r->buckets[i].owned);
    return idle;
}

/* ---- The steps of a bucket ---- */

static void bucket_collect(const struct bucket *b, const raytrain_tensor *tensors)
{
    char *to = b->data;

    for (size_t i = 0; !b->span && i < b->n; i++) {
        const raytrain_tensor *t = &tensors[b->first + i];
        size_t n = gradient_elements(t);

        if (n > 0 && b->type->widen)
            b->type->widen((float *)(void *)to, t->data, n);
        else if (n > 0)
            memcpy(to, t->data, gradient_bytes(t));
        to += n * comm_type_size(b->type->type);
    }
}

static void bucket_spread(const struct bucket *b, const raytrain_tensor *tensors)
{
    const char *from = b->data;

    for (size_t i = 0; !b->span && i < b->n; i++) {
        const raytrain_tensor *t = &tensors[b->first + i];
        size_t n = gradient_elements(t);

        if (n > 0 && b->type->narrow)
            b->type->narrow(t->data, (const float *)(const void *)from, n);
        else if (n > 0)
            memcpy(t->data, from, gradient_bytes(t));
        from += n * comm_type_size(b->type->type);
    }
}

int bucket_reduce(raytrain_reducer *r, struct bucket *b, struct error *err)
{
    const struct comm_ops *ops = r->comm->ops;

    if (b->cuts)
        return ops->ireduce_parts(r->comm, COMM_HOST, b->data, b->cuts, b->type->type,
                                  COMM_MEAN, &b->request, err);
    return ops->iallreduce(r->comm, COMM_HOST, b->data, b->elements, b->type->type,
                           COMM_MEAN, &b->request, err);
}

/* The MPI library makes progress in these calls. */
int bucket_test(raytrain_reducer *r, struct bucket *b, struct error *err)
{
    return r->comm->ops->test(r->comm, &b->request, &b->finished, err);
}

static int host_start(raytrain_reducer *r, struct bucket *b, bool *started,
                      struct error *err)
{
    bucket_collect(b, r->tensors);
    *started = true;
    return bucket_reduce(r, b, err);
}

static int host_test(raytrain_reducer *r, struct bucket *b, struct error *err)
{
    if (bucket_test(r, b, err) < 0)
        return -1;
    if (b->finished)
        bucket_spread(b, r->tensors);
    return 0;
}

/* ---- Parameters ---- */

int parts_gather(raytrain_reducer *r, const struct comm_parts parts[],
                 struct error *err)
{
    r->comm->waiting = collective_wait_hook;
    r->comm->waiting_arg = &r->ctx->waiting;
    return r->comm->ops->allgather_parts(r->comm, parts, r->n_params, err);
}

static int host_gather(raytrain_reducer *r, struct error *err)
{
    return parts_gather(r, r->parts, err);
}

const struct reducer_transport reducer_host = {
    .widens = true,
    .place_tensors = host_place_tensors,
    .place_buckets = host_place_buckets,
    .start = host_start,
    .test = host_test,
    .gather = host_gather,
    .close = host_close,
};
