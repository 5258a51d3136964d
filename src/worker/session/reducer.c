/*
 * reducer.c - gradient averaging that overlaps with the backward pass.
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

#include "session/reducer_impl.h"
#include "util/clock.h"

/* How long destroy waits for buckets in progress: other ranks may be dead. */
#define ABANDON_S 2.0

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
    if (reducer_place(r, err) < 0)
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

int reducer_broken_error(raytrain_reducer *r)
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
        return reducer_broken_error(r);
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
        return reducer_broken_error(r);
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
