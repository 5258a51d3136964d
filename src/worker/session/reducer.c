/*
 * reducer.c - gradient averaging that overlaps with the backward pass.
 *
 * Tensors are grouped, in index order, into buckets of one element type. If the tensors
 * of a bucket are adjacent in memory, it is reduced in place; otherwise it is copied to
 * a buffer and back. 16-bit floats are always copied, to a buffer of float32. Tensors
 * without memory of their own get adjacent memory of the communicator, which is reduced
 * without messages if the ranks share a node.
 *
 * In a sharded reducer the gradients that have parameters are in buckets of their own,
 * of which each rank gets the means of its part alone (shards.h); the parts of the
 * parameters follow from those of the gradients.
 *
 * Invariants: buckets start in index order, the same on every rank; started <=
 * n_buckets; all buckets below `done` are finished and contain means. A bucket starts
 * once all of its tensors and all buckets before it are ready. Between steps nothing is
 * started.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/gradients.h"
#include "session/reducible.h"
#include "session/session.h"
#include "session/shards.h"
#include "util/clock.h"

/* Large enough that latency does not matter, small enough that the first bucket is in
 * progress long before the backward pass ends. */
#define BUCKET_BYTES_DEFAULT ((size_t)1 << 20)

/* Where the memory of another element type begins. */
#define ALIGNMENT 64

/* How long destroy waits for buckets in progress: other ranks may be dead. */
#define ABANDON_S 2.0

struct bucket {
    size_t first, n;              /* tensors */
    size_t ready;                 /* how many of them are complete */
    const struct reducible *type; /* of all of them */
    char *data;                   /* what is reduced */
    bool copied;                  /* data is not the tensors' own memory */
    char *owned;                  /* data, if it is ours to free */
    size_t elements;
    const size_t *cuts; /* between the parts of the ranks; NULL: not sharded */
    struct comm_request *request;
    bool finished;
};

struct raytrain_reducer {
    raytrain_context *ctx;
    struct comm *comm;
    raytrain_tensor *tensors; /* n gradients, then n_params parameters */
    size_t *bucket_of;
    size_t *offsets; /* in their buckets, in elements; of the first n_params */
    bool *is_ready;
    size_t n, n_params;
    bool sharded;
    size_t *cuts;             /* of all buckets, then of all parameters */
    struct comm_parts *parts; /* of the parameters */
    struct bucket *buckets;
    size_t n_buckets, started, done;
    bool broken; /* communication has failed: nothing more is started */
};

/* ---- Plan ---- */

/* A bucket is closed once it has reached the requested size, or the type changes, or
 * after the last gradient that has a parameter. Every rank has the same types and
 * shapes, so every rank gets the same buckets. */
static int buckets_plan(raytrain_reducer *r, size_t bucket_bytes, struct error *err)
{
    size_t bytes = 0;

    r->buckets = calloc(r->n, sizeof *r->buckets);
    if (!r->buckets)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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

static int tensor_order(const void *a, const void *b)
{
    const raytrain_tensor *const *x = a, *const *y = b;

    return ((*x)->data > (*y)->data) - ((*x)->data < (*y)->data);
}

/* The start of the bucket's tensors if they are adjacent, in any order. A backward pass
 * finishes the last layer first, so they are mostly in reverse order. */
static int bucket_adjacent(const raytrain_reducer *r, const struct bucket *b,
                           char **start, struct error *err)
{
    const raytrain_tensor **sorted = calloc(b->n, sizeof *sorted);
    const char *end = NULL;
    size_t n = 0;

    *start = NULL;
    if (!sorted)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
            *start = sorted[0]->data;
    }
    free(sorted);
    return 0;
}

static int bucket_place(const raytrain_reducer *r, struct bucket *b, struct error *err)
{
    if (b->elements == 0 || b->data)
        return 0;
    if (bucket_adjacent(r, b, &b->data, err) < 0)
        return -1;
    if (b->data)
        return 0;
    b->data = b->owned = calloc(b->elements, comm_type_size(b->type->type));
    b->copied = true;
    return b->owned ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

static int reducer_plan(raytrain_reducer *r, const struct gradients *g,
                        struct error *err)
{
    r->n = g->n;
    r->n_params = g->n_params;
    r->sharded = g->params != NULL;
    r->tensors = calloc(r->n + r->n_params, sizeof *r->tensors);
    r->bucket_of = calloc(r->n, sizeof *r->bucket_of);
    r->is_ready = calloc(r->n, sizeof *r->is_ready);
    if (!r->tensors || !r->bucket_of || !r->is_ready)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    memcpy(r->tensors, g->list, r->n * sizeof *r->tensors);
    if (r->n_params > 0)
        memcpy(r->tensors + r->n, g->params, r->n_params * sizeof *r->tensors);
    return buckets_plan(r, g->bucket_bytes > 0 ? g->bucket_bytes : BUCKET_BYTES_DEFAULT,
                        err);
}

static size_t aligned(size_t at)
{
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Lay out what the communicator provides, from base on (NULL: only count the bytes):
 * tensors without memory, adjacent and in index order, parameters last; then the buckets of widened
 * numbers, which ranks that share a node reduce there without messages. */
static size_t memory_lay(raytrain_reducer *r, char *base)
{
    const raytrain_tensor *before = NULL;
    size_t at = 0;

    for (size_t i = 0; i < r->n + r->n_params; i++) {
        raytrain_tensor *t = &r->tensors[i];

        if (i == r->n)
            at = aligned(at);
        if (t->data)
            continue;
        if (before && t->dtype != before->dtype)
            at = aligned(at);
        t->data = base ? base + at : NULL;
        at += gradient_bytes(t);
        before = t;
    }
    for (size_t i = 0; r->comm->size > 1 && i < r->n_buckets; i++) {
        struct bucket *b = &r->buckets[i];

        if (!b->type->widen)
            continue;
        at = aligned(at);
        b->data = base ? base + at : NULL;
        b->copied = true;
        at += b->elements * comm_type_size(b->type->type);
    }
    return at;
}

/* COLLECTIVE */
static int memory_place(raytrain_reducer *r, struct error *err)
{
    void *memory;

    if (r->comm->ops->alloc(r->comm, COMM_HOST, memory_lay(r, NULL), &memory, err) < 0)
        return -1;
    memory_lay(r, memory);
    return 0;
}

static int buckets_place(raytrain_reducer *r, struct error *err)
{
    for (size_t i = 0; r->comm->size > 1 && i < r->n_buckets; i++) {
        if (bucket_place(r, &r->buckets[i], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Parts ---- */

static struct shard_bucket shard_bucket_of(const raytrain_reducer *r,
                                           const struct bucket *b)
{
    return (struct shard_bucket){r->tensors + b->first, r->offsets + b->first, b->n,
                                 b->elements};
}

/* Where the tensors of a bucket are in it. */
static void bucket_offsets(raytrain_reducer *r, const struct bucket *b)
{
    size_t at = 0;

    for (size_t i = b->first; i < b->first + b->n; i++) {
        const raytrain_tensor *t = &r->tensors[i];

        r->offsets[i] = at;
        at += gradient_elements(t);
        if (gradient_elements(t) > 0 && b->data && !b->copied)
            r->offsets[i] =
                (size_t)((char *)t->data - b->data) / comm_type_size(b->type->type);
    }
}

/* Cuts of the parameter of gradient i, in bytes. */
static void param_cut(const raytrain_reducer *r, size_t i, size_t cuts[])
{
    const struct bucket *b = &r->buckets[r->bucket_of[i]];
    const struct shard_bucket shard = shard_bucket_of(r, b);
    size_t width = raytrain_dtype_size(r->tensors[r->n + i].dtype);

    for (int k = 0; k <= r->comm->size; k++)
        cuts[k] = width * shard_cut_in(&shard, b->cuts, k, i - b->first);
}

static int parts_plan(raytrain_reducer *r, struct error *err)
{
    size_t each = (size_t)r->comm->size + 1, *cuts;

    r->offsets = calloc(r->n_params + 1, sizeof *r->offsets);
    r->cuts = calloc((r->n_buckets + r->n_params) * each, sizeof *r->cuts);
    r->parts = calloc(r->n_params + 1, sizeof *r->parts);
    if (!r->offsets || !r->cuts || !r->parts)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    cuts = r->cuts;
    for (size_t k = 0; k < r->n_buckets && r->buckets[k].first < r->n_params; k++) {
        struct bucket *b = &r->buckets[k];
        struct shard_bucket shard = shard_bucket_of(r, b);

        bucket_offsets(r, b);
        shards_cut(&shard, r->comm->size, cuts);
        b->cuts = cuts;
        cuts += each;
    }
    for (size_t i = 0; i < r->n_params; i++, cuts += each) {
        param_cut(r, i, cuts);
        r->parts[i] = (struct comm_parts){r->tensors[r->n + i].data, cuts};
    }
    return 0;
}

/* ---- A bucket's way ---- */

static void bucket_gather(const struct bucket *b, const raytrain_tensor *tensors)
{
    char *to = b->data;

    for (size_t i = 0; b->copied && i < b->n; i++) {
        const raytrain_tensor *t = &tensors[b->first + i];
        size_t n = gradient_elements(t);

        if (n > 0 && b->type->widen)
            b->type->widen((float *)(void *)to, t->data, n);
        else if (n > 0)
            memcpy(to, t->data, gradient_bytes(t));
        to += n * comm_type_size(b->type->type);
    }
}

static void bucket_scatter(const struct bucket *b, const raytrain_tensor *tensors)
{
    const char *from = b->data;

    for (size_t i = 0; b->copied && i < b->n; i++) {
        const raytrain_tensor *t = &tensors[b->first + i];
        size_t n = gradient_elements(t);

        if (n > 0 && b->type->narrow)
            b->type->narrow(t->data, (const float *)(const void *)from, n);
        else if (n > 0)
            memcpy(t->data, from, gradient_bytes(t));
        from += n * comm_type_size(b->type->type);
    }
}

static int reducer_broken(raytrain_reducer *r)
{
    r->broken = true;
    return -1;
}

static int bucket_start(raytrain_reducer *r, struct bucket *b, struct error *err)
{
    const struct comm_ops *ops = r->comm->ops;

    if (b->cuts)
        return ops->ireduce_parts(r->comm, COMM_HOST, b->data, b->cuts, b->type->type,
                                  COMM_MEAN, &b->request, err);
    return ops->iallreduce(r->comm, COMM_HOST, b->data, b->elements, b->type->type,
                           COMM_MEAN, &b->request, err);
}

static int buckets_start(raytrain_reducer *r, struct error *err)
{
    while (r->started < r->n_buckets &&
           r->buckets[r->started].ready == r->buckets[r->started].n) {
        struct bucket *b = &r->buckets[r->started];

        bucket_gather(b, r->tensors);
        if (b->elements == 0)
            b->finished = true;
        else if (bucket_start(r, b, err) < 0)
            return reducer_broken(r);
        r->started++;
    }
    return 0;
}

/* Test the buckets in progress: it is these calls that let the MPI library make
 * progress. */
static int buckets_poll(raytrain_reducer *r, struct error *err)
{
    for (size_t i = r->done; i < r->started; i++) {
        struct bucket *b = &r->buckets[i];

        if (b->finished)
            continue;
        if (r->comm->ops->test(r->comm, &b->request, &b->finished, err) < 0)
            return reducer_broken(r);
        if (b->finished)
            bucket_scatter(b, r->tensors);
    }
    while (r->done < r->started && r->buckets[r->done].finished)
        r->done++;
    return 0;
}

/* Wait until all started buckets have finished. A waiting rank soon yields its core;
 * once a second it checks whether it has waited for too long. */
static int buckets_drain(raytrain_reducer *r, double at_most_s, struct error *err)
{
    double begun = clock_now(), checked = 0;

    for (unsigned spins = 0;; spins++) {
        double waited;

        if (buckets_poll(r, err) < 0)
            return -1;
        if (r->done == r->started)
            return 0;
        if (spins < r->comm->polls)
            continue;
        sched_yield();
        if (spins % 64 != 63)
            continue;
        waited = clock_now() - begun;
        if (at_most_s > 0 && waited > at_most_s)
            return -1;
        if (waited >= checked + 1) {
            checked = waited;
            collective_wait_hook(&r->ctx->waiting, waited);
            if (at_most_s == 0 &&
                collective_wait_check(&r->ctx->waiting, waited, err) < 0)
                return reducer_broken(r);
        }
    }
}

static void step_reset(raytrain_reducer *r)
{
    memset(r->is_ready, 0, r->n * sizeof *r->is_ready);
    for (size_t i = 0; i < r->n_buckets; i++) {
        r->buckets[i].ready = 0;
        r->buckets[i].finished = false;
    }
    r->started = r->done = 0;
}

/* ---- The calls ---- */

static int reducer_make(raytrain_context *ctx, const struct gradients *mine,
                        raytrain_reducer **out)
{
    struct error *err = &ctx->error;
    raytrain_reducer *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    r->ctx = ctx;
    collective_wait_begin(&ctx->waiting, "reducer create");
    if (ctx->comm->size > 1 && gradients_match(ctx, mine, err) < 0)
        goto fail;
    rc = gradients_check(mine, err);
    if (rc == 0)
        rc = reducer_plan(r, mine, err);
    if (comm_agree(ctx->comm, rc, err) < 0 ||
        ctx->comm->ops->dup(ctx->comm, &r->comm, err) < 0) {
        r->comm = NULL;
        goto fail;
    }
    if (memory_place(r, err) < 0)
        goto fail;
    rc = buckets_place(r, err);
    if (rc == 0 && r->sharded)
        rc = parts_plan(r, err);
    if (comm_agree(r->comm, rc, err) < 0)
        goto fail;
    *out = r;
    return 0;
fail:
    raytrain_reducer_destroy(r);
    return -1;
}

static int reducer_create(raytrain_context *ctx, const struct gradients *mine,
                          raytrain_reducer **reducer)
{
    if (!ctx)
        return session_null(ctx, mine->call, "context");
    if (!reducer)
        return session_null(ctx, mine->call, "place for the reducer");
    if (!mine->list)
        return session_null(ctx, mine->call, "list of gradients");
    if (mine->n == 0) {
        error_set(&ctx->error, RAYTRAIN_EINVAL, "%s: there is no gradient", mine->call);
        return RAYTRAIN_EINVAL;
    }
    return session_status(ctx, reducer_make(ctx, mine, reducer));
}

int raytrain_reducer_create(raytrain_context *ctx, const raytrain_tensor grads[],
                            size_t n, size_t bucket_bytes, raytrain_reducer **reducer)
{
    const struct gradients mine = {.call = "raytrain_reducer_create",
                                   .list = grads,
                                   .n = n,
                                   .bucket_bytes = bucket_bytes};

    return reducer_create(ctx, &mine, reducer);
}

int raytrain_reducer_create_sharded(raytrain_context *ctx,
                                    const raytrain_tensor grads[], size_t n,
                                    const raytrain_tensor params[], size_t n_params,
                                    size_t bucket_bytes, raytrain_reducer **reducer)
{
    const struct gradients mine = {.call = "raytrain_reducer_create_sharded",
                                   .list = grads,
                                   .n = n,
                                   .bucket_bytes = bucket_bytes,
                                   .params = params,
                                   .n_params = n_params};

    if (!params)
        return session_null(ctx, mine.call, "list of parameters");
    return reducer_create(ctx, &mine, reducer);
}

static int usage_error(raytrain_reducer *r, const char *call, size_t i,
                       const char *what)
{
    error_set(&r->ctx->error, RAYTRAIN_EINVAL, "%s: gradient %zu %s", call, i, what);
    return RAYTRAIN_EINVAL;
}

void *raytrain_reducer_data(raytrain_reducer *r, size_t i)
{
    if (!r) {
        session_null(NULL, "raytrain_reducer_data", "reducer");
        return NULL;
    }
    if (i >= r->n) {
        usage_error(r, "raytrain_reducer_data", i, "is not one of this reducer");
        return NULL;
    }
    return r->tensors[i].data;
}

/* Of a sharded reducer. */
static int param_usage(raytrain_reducer *r, const char *call, size_t i)
{
    if (!r)
        return session_null(NULL, call, "reducer");
    if (i < r->n_params)
        return RAYTRAIN_OK;
    error_set(&r->ctx->error, RAYTRAIN_EINVAL,
              r->sharded ? "%s: this reducer has no parameter %zu"
                         : "%s: parameter %zu: this reducer is not sharded: create it "
                           "with raytrain_reducer_create_sharded()",
              call, i);
    return RAYTRAIN_EINVAL;
}

void *raytrain_reducer_param(raytrain_reducer *r, size_t i)
{
    return param_usage(r, "raytrain_reducer_param", i) ? NULL
                                                       : r->tensors[r->n + i].data;
}

int raytrain_reducer_shard(raytrain_reducer *r, size_t i, raytrain_slab *slab,
                           size_t *first, size_t *n)
{
    const char *call = "raytrain_reducer_shard";
    const raytrain_tensor *t;
    size_t row, width, begin, end;
    int rc = param_usage(r, call, i);

    if (rc)
        return rc;
    if (!first || !n)
        return session_null(r->ctx, call, first ? "place for n" : "place for first");
    t = &r->tensors[r->n + i];
    width = raytrain_dtype_size(t->dtype);
    row = shard_row_elements(t);
    begin = r->parts[i].cuts[r->comm->rank] / width;
    end = r->parts[i].cuts[r->comm->rank + 1] / width;
    *first = begin;
    *n = end - begin;
    if (!slab)
        return RAYTRAIN_OK;
    *slab = (raytrain_slab){{0}, {0}};
    memcpy(slab->count, t->shape, (size_t)t->ndim * sizeof *t->shape);
    if (t->ndim > 0 && row > 0) {
        slab->start[0] = begin / row;
        slab->count[0] = (end - begin) / row;
    }
    return RAYTRAIN_OK;
}

static int broken_error(raytrain_reducer *r)
{
    error_set(&r->ctx->error, RAYTRAIN_ECOMM,
              "this reducer's communication has failed before");
    return RAYTRAIN_ECOMM;
}

int raytrain_reducer_ready(raytrain_reducer *r, size_t i)
{
    if (!r)
        return session_null(NULL, "raytrain_reducer_ready", "reducer");
    if (r->broken)
        return broken_error(r);
    if (i >= r->n)
        return usage_error(r, "raytrain_reducer_ready", i,
                           "is not one of this reducer");
    if (r->is_ready[i])
        return usage_error(r, "raytrain_reducer_ready", i, "is already ready");
    r->is_ready[i] = true;
    r->buckets[r->bucket_of[i]].ready++;
    if (r->comm->size == 1)
        return RAYTRAIN_OK;
    if (buckets_start(r, &r->ctx->error) < 0)
        return session_status(r->ctx, -1);
    return session_status(r->ctx, buckets_poll(r, &r->ctx->error));
}

int raytrain_reducer_wait(raytrain_reducer *r)
{
    if (!r)
        return session_null(NULL, "raytrain_reducer_wait", "reducer");
    if (r->broken)
        return broken_error(r);
    for (size_t i = 0; i < r->n; i++) {
        if (!r->is_ready[i])
            return usage_error(r, "raytrain_reducer_wait", i, "is not ready yet");
    }
    if (r->comm->size > 1) {
        collective_wait_begin(&r->ctx->waiting, "reducer wait");
        if (buckets_drain(r, 0, &r->ctx->error) < 0)
            return session_status(r->ctx, -1);
    }
    step_reset(r);
    return RAYTRAIN_OK;
}

static void gather_say(const void *arg, char text[CALL_TEXT_MAX])
{
    (void)arg;
    snprintf(text, CALL_TEXT_MAX, "called raytrain_reducer_gather()");
}

static int reducer_gather(raytrain_reducer *r)
{
    const struct session_call call = {CALL_REDUCER_GATHER, gather_say, NULL};
    struct error *err = &r->ctx->error;

    collective_wait_begin(&r->ctx->waiting, "reducer gather");
    if (session_match_arguments(r->ctx, &call, 0, err) < 0)
        return -1;
    r->comm->waiting = collective_wait_hook;
    r->comm->waiting_arg = &r->ctx->waiting;
    if (r->comm->ops->allgather_parts(r->comm, r->parts, r->n_params, err) < 0)
        return reducer_broken(r);
    return 0;
}

int raytrain_reducer_gather(raytrain_reducer *r)
{
    const char *call = "raytrain_reducer_gather";

    if (!r)
        return session_null(NULL, call, "reducer");
    if (!r->sharded)
        return param_usage(r, call, 0);
    if (r->broken)
        return broken_error(r);
    if (r->started > 0) {
        error_set(
            &r->ctx->error, RAYTRAIN_EINVAL,
            "%s: gradients are being averaged: call raytrain_reducer_wait() first",
            call);
        return RAYTRAIN_EINVAL;
    }
    return r->comm->size == 1 ? RAYTRAIN_OK : session_status(r->ctx, reducer_gather(r));
}

/* The memory of buckets in progress belongs to the MPI library. If they do not finish
 * in time, because another worker is gone, the memory is left to it: this process is
 * about to end. */
void raytrain_reducer_destroy(raytrain_reducer *r)
{
    struct error ignored;
    bool idle = true;

    if (!r)
        return;
    if (r->comm && r->done < r->started)
        idle = !r->broken && buckets_drain(r, ABANDON_S, &ignored) == 0;
    for (size_t i = 0; r->buckets && idle && i < r->n_buckets; i++)
        free(r->buckets[i].owned);
    if (idle)
        comm_free(r->comm);
    free(r->buckets);
    free(r->tensors);
    free(r->bucket_of);
    free(r->is_ready);
    free(r->offsets);
    free(r->cuts);
    free(r->parts);
    free(r);
}
