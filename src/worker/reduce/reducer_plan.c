/*
 * reducer_plan.c - plans a reducer: the buckets, their memory, and the parts of the
 * ranks.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "device/device.h"
#include "reduce/reducer_impl.h"

/* Large enough that latency does not matter, small enough that the first bucket is in
 * progress long before the backward pass ends. */
#define BUCKET_BYTES_DEFAULT ((size_t)1 << 20)

/* Where the memory of another element type begins. */
#define ALIGNMENT 64

/* ---- Buckets ---- */

/* A bucket is closed once it has reached the requested size, or the type changes, or
 * after the last gradient that has a parameter. Every rank has the same types and
 * shapes, so every rank gets the same buckets. */
static int buckets_plan(raytrain_reducer *r, size_t bucket_bytes, struct error *err)
{
    size_t bytes = 0;

    r->buckets = calloc(r->n, sizeof *r->buckets);
    if (!r->buckets)
        return error_no_memory(err);
    for (size_t i = 0; i < r->n; i++) {
        const raytrain_tensor *t = &r->tensors[i];
        struct bucket *b;

        if (i == 0 || i == r->n_params || t->dtype != t[-1].dtype ||
            bytes >= bucket_bytes) {
            r->buckets[r->n_buckets].first = i;
            r->buckets[r->n_buckets++].type = reducible_find(t->dtype);
            bytes = 0;
        }
        b = &r->buckets[r->n_buckets - 1];
        b->n++;
        b->elements += gradient_elements(t);
        r->bucket_of[i] = r->n_buckets - 1;
        bytes += gradient_bytes(t);
    }
    return 0;
}

int reducer_plan(raytrain_reducer *r, const struct gradients *g, struct error *err)
{
    r->n = g->n;
    r->n_params = g->n_params;
    r->sharded = g->params != NULL;
    r->device = g->list[0].device;
    r->device_id = g->list[0].device_id;
    r->tensors = calloc(r->n + r->n_params, sizeof *r->tensors);
    r->bucket_of = calloc(r->n, sizeof *r->bucket_of);
    r->is_ready = calloc(r->n, sizeof *r->is_ready);
    r->is_ours = calloc(r->n + r->n_params, sizeof *r->is_ours);
    if (!r->tensors || !r->bucket_of || !r->is_ready || !r->is_ours)
        return error_no_memory(err);
    memcpy(r->tensors, g->list, r->n * sizeof *r->tensors);
    if (r->n_params > 0)
        memcpy(r->tensors + r->n, g->params, r->n_params * sizeof *r->tensors);
    for (size_t i = 0; i < r->n + r->n_params; i++)
        r->is_ours[i] = !r->tensors[i].data;
    return buckets_plan(r, g->bucket_bytes > 0 ? g->bucket_bytes : BUCKET_BYTES_DEFAULT,
                        err);
}

/* ---- The memory of tensors that have none ---- */

size_t reducer_aligned(size_t at)
{
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The parameters, and each change of type, begin at an aligned address. */
size_t tensors_place(raytrain_reducer *r, char *base)
{
    const raytrain_tensor *before = NULL;
    size_t at = 0;

    for (size_t i = 0; i < r->n + r->n_params; i++) {
        raytrain_tensor *t = &r->tensors[i];

        if (i == r->n)
            at = reducer_aligned(at);
        if (!r->is_ours[i])
            continue;
        if (before && t->dtype != before->dtype)
            at = reducer_aligned(at);
        t->data = base ? base + at : NULL;
        at += gradient_bytes(t);
        before = t;
    }
    return at;
}

/* ---- Which buckets are memory of their tensors ---- */

static int tensor_order(const void *a, const void *b)
{
    const raytrain_tensor *const *x = a, *const *y = b;

    return ((*x)->data > (*y)->data) - ((*x)->data < (*y)->data);
}

int tensors_are_one(const raytrain_reducer *r, const void *data, size_t n, bool *is_one,
                    struct error *err)
{
    *is_one = true;
    return r->device == RAYTRAIN_HOST
               ? 0
               : device_is_one(r->device, r->device_id, data, n, is_one, err);
}

/* The start of the bucket's tensors if they are adjacent, in any order, and in one
 * allocation. A backward pass finishes the last layer first, so they are mostly in
 * reverse order. */
static int bucket_adjacent(const raytrain_reducer *r, const struct bucket *b,
                           char **start, struct error *err)
{
    const raytrain_tensor **sorted = calloc(b->n, sizeof *sorted);
    const char *end = NULL;
    size_t n = 0;
    bool is_one = false;
    int rc = 0;

    *start = NULL;
    if (!sorted)
        return error_no_memory(err);
    for (size_t i = 0; i < b->n; i++) {
        if (gradient_elements(&r->tensors[b->first + i]) > 0)
            sorted[n++] = &r->tensors[b->first + i];
    }
    qsort(sorted, n, sizeof *sorted, tensor_order);
    for (size_t i = 0; i < n; i++) {
        const char *data = sorted[i]->data;

        if (i > 0 && data != end)
            break;
        end = data + gradient_bytes(sorted[i]);
        if (i == n - 1)
            rc = tensors_are_one(r, sorted[0]->data,
                                 (size_t)(end - (char *)sorted[0]->data), &is_one, err);
    }
    if (is_one)
        *start = sorted[0]->data;
    free(sorted);
    return rc;
}

/* A hash of the place of each tensor in the bucket, which must be the same on every
 * rank if the bucket is a span. */
static int64_t layout_hash(const raytrain_reducer *r, const struct bucket *b)
{
    uint64_t hash = b->first;

    for (size_t i = 0; i < b->n; i++) {
        const raytrain_tensor *t = &r->tensors[b->first + i];
        int64_t at = gradient_elements(t) > 0 ? (char *)t->data - b->span : 0;

        hash = XXH3_64bits_withSeed(&at, sizeof at, hash);
    }
    return (int64_t)(hash >> 1);
}

/* COLLECTIVE: buckets remain spans only if they have the same layout on all ranks. */
static int layouts_agree(raytrain_reducer *r, struct error *err)
{
    int64_t *lanes = calloc(2 * r->n_buckets, sizeof *lanes);
    int rc = lanes ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < r->n_buckets; i++) {
        const struct bucket *b = &r->buckets[i];

        lanes[2 * i] = b->span ? layout_hash(r, b) : -1;
        lanes[2 * i + 1] = -lanes[2 * i];
    }
    rc = comm_agree(r->comm, rc, err);
    if (rc == 0)
        rc = r->comm->ops->allreduce(r->comm, lanes, 2 * r->n_buckets, COMM_INT64,
                                     COMM_MIN, err);
    for (size_t i = 0; rc == 0 && i < r->n_buckets; i++)
        if (lanes[2 * i] != -lanes[2 * i + 1])
            r->buckets[i].span = NULL;
    free(lanes);
    return rc;
}

/* COLLECTIVE */
static int spans_find(raytrain_reducer *r, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->n_buckets; i++) {
        struct bucket *b = &r->buckets[i];

        if (b->elements > 0 && !(b->type->widen && r->transport->widens))
            rc = bucket_adjacent(r, b, &b->span, err);
    }
    return comm_agree(r->comm, rc, err) < 0 ? -1 : layouts_agree(r, err);
}

/* ---- Parts ---- */

static struct parted_bucket parted_bucket_of(const raytrain_reducer *r,
                                             const struct bucket *b)
{
    return (struct parted_bucket){r->tensors + b->first, r->offsets + b->first, b->n,
                                  b->elements};
}

/* Set the offsets of the tensors of a bucket. */
static void bucket_offsets(raytrain_reducer *r, const struct bucket *b)
{
    size_t at = 0;

    for (size_t i = b->first; i < b->first + b->n; i++) {
        const raytrain_tensor *t = &r->tensors[i];

        r->offsets[i] = at;
        at += gradient_elements(t);
        if (gradient_elements(t) > 0 && b->span)
            r->offsets[i] =
                (size_t)((char *)t->data - b->span) / raytrain_dtype_size(t->dtype);
    }
}

/* Cuts of the parameter of gradient i, in bytes. */
static void param_cut(const raytrain_reducer *r, size_t i, size_t cuts[])
{
    const struct bucket *b = &r->buckets[r->bucket_of[i]];
    const struct parted_bucket parted = parted_bucket_of(r, b);
    size_t width = raytrain_dtype_size(r->tensors[r->n + i].dtype);

    for (int k = 0; k <= r->comm->size; k++)
        cuts[k] = width * bucket_parts_cut_in(&parted, b->cuts, k, i - b->first);
}

static int parts_plan(raytrain_reducer *r, struct error *err)
{
    size_t each = (size_t)r->comm->size + 1, *cuts;

    r->offsets = calloc(r->n_params + 1, sizeof *r->offsets);
    r->cuts = calloc((r->n_buckets + r->n_params) * each, sizeof *r->cuts);
    r->parts = calloc(r->n_params + 1, sizeof *r->parts);
    if (!r->offsets || !r->cuts || !r->parts)
        return error_no_memory(err);
    cuts = r->cuts;
    for (size_t k = 0; k < r->n_buckets && r->buckets[k].first < r->n_params; k++) {
        struct bucket *b = &r->buckets[k];
        struct parted_bucket parted = parted_bucket_of(r, b);

        bucket_offsets(r, b);
        bucket_parts_cut(&parted, r->comm->size, cuts);
        b->cuts = cuts;
        cuts += each;
    }
    for (size_t i = 0; i < r->n_params; i++, cuts += each) {
        param_cut(r, i, cuts);
        r->parts[i] = (struct comm_parts){r->tensors[r->n + i].data, cuts};
    }
    return 0;
}

/* ---- All of it ---- */

int reducer_place(raytrain_reducer *r, struct error *err)
{
    const struct reducer_transport *transport = r->transport;
    bool alone = r->comm->size == 1;
    int rc = 0;

    if (transport->place_tensors(r, err) < 0 || (!alone && spans_find(r, err) < 0) ||
        (!alone && transport->place_buckets && transport->place_buckets(r, err) < 0))
        return -1;
    if (r->sharded)
        rc = parts_plan(r, err);
    if (comm_agree(r->comm, rc, err) < 0)
        return -1;
    return !alone && r->n_params > 0 && transport->place_params
               ? transport->place_params(r, err)
               : 0;
}
