/*
 * reducer.c - gradient averaging that overlaps with the backward pass.
 *
 * How a bucket gets from rank to rank is left to a transport (reducer_impl.h).
 *
 * Invariants: buckets start in index order, the same on every rank; done <= started <=
 * due <= n_buckets. A bucket is due once all of its tensors and all buckets before it
 * are ready; all buckets below `done` are finished. `due` depends on the caller only,
 * `started` also on time. Between steps no bucket is due.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/device_group.h"
#include "reduce/reducer_impl.h"
#include "util/clock.h"

/* ---- The buckets of a step ---- */

static int reducer_broken(raytrain_reducer *r)
{
    r->broken = true;
    return -1;
}

static int buckets_start(raytrain_reducer *r, struct error *err)
{
    bool started = true;

    while (started && r->started < r->due) {
        struct bucket *b = &r->buckets[r->started];

        if (b->elements == 0)
            b->finished = true;
        else if (r->transport->start(r, b, &started, err) < 0)
            return reducer_broken(r);
        r->started += started;
    }
    return 0;
}

/* Start the buckets that can be started, and advance those in progress. */
static int buckets_poll(raytrain_reducer *r, struct error *err)
{
    if (buckets_start(r, err) < 0)
        return -1;
    for (size_t i = r->done; i < r->started; i++) {
        struct bucket *b = &r->buckets[i];

        if (!b->finished && r->transport->test(r, b, err) < 0)
            return reducer_broken(r);
    }
    while (r->done < r->started && r->buckets[r->done].finished)
        r->done++;
    return 0;
}

/* Wait until all buckets that are due have finished. A waiting rank soon yields its
 * core; once a second it checks whether it has waited too long. */
static int buckets_drain(raytrain_reducer *r, double at_most_s, struct error *err)
{
    double begun = clock_now(), checked = 0;

    for (unsigned spins = 0;; spins++) {
        double waited;

        if (buckets_poll(r, err) < 0)
            return -1;
        if (r->done == r->due)
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
    r->due = r->started = r->done = 0;
}

/* Gradient i is complete. */
static int gradient_take(raytrain_reducer *r, size_t i, struct error *err)
{
    struct bucket *b = &r->buckets[r->bucket_of[i]];

    if (r->transport->ready && r->transport->ready(r, err) < 0)
        return reducer_broken(r);
    if (b->ready == b->n && b->elements > 0 && r->transport->complete &&
        r->transport->complete(r, b, err) < 0)
        return reducer_broken(r);
    while (r->due < r->n_buckets && r->buckets[r->due].ready == r->buckets[r->due].n)
        r->due++;
    return buckets_poll(r, err);
}

static int step_end(raytrain_reducer *r, struct error *err)
{
    collective_wait_begin(&r->ctx->waiting, "reducer wait");
    if (buckets_drain(r, 0, err) < 0)
        return -1;
    return r->transport->settle && r->transport->settle(r, err) < 0 ? reducer_broken(r)
                                                                    : 0;
}

/* ---- The calls ---- */

/* COLLECTIVE. Memory on GPUs goes through host memory if the GPUs cannot form a group,
 * which is reported. */
static int transport_choose(raytrain_reducer *r, struct error *err)
{
    bool lost;

    r->transport = r->device == RAYTRAIN_HOST ? &reducer_host : &reducer_staged;
    if (r->device == RAYTRAIN_HOST || r->comm->size == 1)
        return 0;
    if (session_devices_group(r->ctx, r->comm, r->device, r->device_id, &r->group,
                              &lost, err) < 0) {
        if (lost)
            r->comm = NULL; /* the MPI library may still use it */
        return -1;
    }
    if (r->group)
        r->transport = &reducer_group;
    return 0;
}

static int reducer_make(raytrain_context *ctx, const struct gradients *mine,
                        raytrain_reducer **out)
{
    struct error *err = &ctx->error;
    raytrain_reducer *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return error_no_memory(err);
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
    if (transport_choose(r, err) < 0 || reducer_place(r, err) < 0) {
        error_prefix(err, "%s", mine->call);
        goto fail;
    }
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
        error_set(&ctx->error, RAYTRAIN_EINVAL, "%s: there are no gradients",
                  mine->call);
        return RAYTRAIN_EINVAL;
    }
    return session_status(ctx, reducer_make(ctx, mine, reducer));
}

int raytrain_reducer_create(raytrain_context *ctx, const raytrain_tensor grads[],
                            size_t n, size_t bucket_bytes, raytrain_reducer **reducer)
{
    const struct gradients mine = {
        .call = __func__, .list = grads, .n = n, .bucket_bytes = bucket_bytes};

    return reducer_create(ctx, &mine, reducer);
}

int raytrain_reducer_create_sharded(raytrain_context *ctx,
                                    const raytrain_tensor grads[], size_t n,
                                    const raytrain_tensor params[], size_t n_params,
                                    size_t bucket_bytes, raytrain_reducer **reducer)
{
    const struct gradients mine = {.call = __func__,
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
        session_null(NULL, __func__, "reducer");
        return NULL;
    }
    if (i >= r->n) {
        usage_error(r, __func__, i, "does not exist in this reducer");
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
        return session_null(NULL, __func__, "reducer");
    if (r->broken)
        return reducer_broken_error(r);
    if (i >= r->n)
        return usage_error(r, __func__, i, "does not exist in this reducer");
    if (r->is_ready[i])
        return usage_error(r, __func__, i, "is already ready");
    r->is_ready[i] = true;
    r->buckets[r->bucket_of[i]].ready++;
    return r->comm->size == 1
               ? RAYTRAIN_OK
               : session_status(r->ctx, gradient_take(r, i, &r->ctx->error));
}

int raytrain_reducer_wait(raytrain_reducer *r)
{
    if (!r)
        return session_null(NULL, __func__, "reducer");
    if (r->broken)
        return reducer_broken_error(r);
    for (size_t i = 0; i < r->n; i++) {
        if (!r->is_ready[i])
            return usage_error(r, __func__, i, "is not ready yet");
    }
    if (r->comm->size > 1 && step_end(r, &r->ctx->error) < 0)
        return session_status(r->ctx, -1);
    step_reset(r);
    return RAYTRAIN_OK;
}

/* Is no bucket in progress between ranks? */
static bool is_idle(const raytrain_reducer *r)
{
    for (size_t i = r->done; i < r->started; i++)
        if (!r->buckets[i].finished)
            return false;
    return true;
}

/* The MPI library uses the memory of buckets in progress. If they do not finish in
 * time, because another worker is gone, the memory is not freed: this process is about
 * to end. */
void raytrain_reducer_destroy(raytrain_reducer *r)
{
    struct error ignored;
    bool idle;

    if (!r)
        return;
    if (!r->broken && r->done < r->due)
        (void)buckets_drain(r, ABANDON_S, &ignored); /* is_idle() shows the result */
    idle = is_idle(r);
    if (r->transport)
        idle = r->transport->close(r, idle);
    if (idle)
        comm_free(r->comm);
    free(r->buckets);
    free(r->tensors);
    free(r->bucket_of);
    free(r->is_ready);
    free(r->is_ours);
    free(r->offsets);
    free(r->cuts);
    free(r->parts);
    free(r);
}
