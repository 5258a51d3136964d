/*
 * collective_calls.c - the collectives of raytrain.h in host memory: allreduce, also of
 * 16-bit floats; broadcast; allgather; barrier; and how ranks agree on such a call with
 * GPU memory, which reduce/collective_tensors.c makes.
 */
#include "session/collective_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "session/collectives.h"
#include "session/reducible.h"

/* ---- Which reductions there are ---- */

static const struct {
    raytrain_op op;
    enum comm_op combine;
} ops[] = {
    {RAYTRAIN_SUM, COMM_SUM},
    {RAYTRAIN_MEAN, COMM_MEAN},
    {RAYTRAIN_MAX, COMM_MAX},
    {RAYTRAIN_MIN, COMM_MIN},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int reduction_find(raytrain_dtype dtype, raytrain_op op,
                          const struct reducible **type, enum comm_op *combine,
                          struct error *err)
{
    size_t o = 0;

    *type = reducible_find(dtype);
    if (!*type)
        return error_set(err, RAYTRAIN_EINVAL,
                         "raytrain_allreduce: cannot combine elements of type %s: only "
                         "float32, float64, float16, bfloat16 and int64",
                         raytrain_dtype_name(dtype));
    while (o < COUNT(ops) && ops[o].op != op)
        o++;
    if (o == COUNT(ops))
        return error_set(err, RAYTRAIN_EINVAL,
                         "raytrain_allreduce: there is no operation %d", (int)op);
    if (op == RAYTRAIN_MEAN && !(*type)->has_mean)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "raytrain_allreduce: a mean of %s would be truncated to an integer: "
            "use a sum, or a floating-point type",
            raytrain_dtype_name(dtype));
    *combine = ops[o].combine;
    return 0;
}

/* ---- Allreduce ---- */

struct reduction {
    uint64_t n;
    raytrain_dtype dtype;
    raytrain_op op;
};

/* What the calls for tensors say, too: ranks may mix both. So not by __func__. */
static void reduction_say(const void *arg, char text[CALL_TEXT_MAX])
{
    static const char *const words[] = {[RAYTRAIN_SUM] = "sum",
                                        [RAYTRAIN_MEAN] = "mean",
                                        [RAYTRAIN_MAX] = "max",
                                        [RAYTRAIN_MIN] = "min"};
    const struct reduction *r = arg;

    snprintf(text, CALL_TEXT_MAX, "called raytrain_allreduce() of %" PRIu64 " %s (%s)",
             r->n, raytrain_dtype_name(r->dtype), words[r->op]);
}

#define WIDENED_MAX ((size_t)1 << 20) /* elements at a time */

/* COLLECTIVE. Results are rounded once, at the end. */
static int allreduce_widened(struct comm *comm, const struct reducible *type,
                             uint16_t *data, size_t n, enum comm_op combine,
                             struct error *err)
{
    size_t room = n < WIDENED_MAX ? n : WIDENED_MAX;
    float *wide = malloc((room + 1) * sizeof *wide);
    int rc = wide ? 0 : error_set(err, RAYTRAIN_ENOMEM, "no memory to combine numbers");

    rc = comm_agree(comm, rc, err);
    for (size_t done = 0; rc == 0 && done < n; done += room) {
        size_t some = n - done < room ? n - done : room;

        type->widen(wide, data + done, some);
        rc = comm->ops->allreduce(comm, wide, some, type->type, combine, err);
        if (rc == 0)
            type->narrow(data + done, wide, some);
    }
    free(wide);
    return rc;
}

/* The matched allreduce itself combines small data. */
static int allreduce(raytrain_context *ctx, void *data, size_t n, raytrain_dtype dtype,
                     raytrain_op op)
{
    struct error *err = &ctx->error;
    struct reduction r = {n, dtype, op};
    struct session_call call = {CALL_ALLREDUCE, reduction_say, &r};
    const struct reducible *type = NULL;
    enum comm_op combine = COMM_SUM;

    if (reduction_find(dtype, op, &type, &combine, err) < 0)
        return -1;
    if (ctx->comm->size == 1)
        return 0;
    collective_wait_begin(&ctx->waiting, "allreduce");
    if (!type->widen && n > 0 && n <= COMM_MATCHED_BYTES / comm_type_size(type->type))
        return session_match(ctx, &call, data, n, type->type, combine, err);
    call.kind = CALL_ALLREDUCE_LARGE;
    if (session_match_arguments(ctx, &call, XXH3_64bits(&r, sizeof r), err) < 0)
        return -1;
    if (type->widen)
        return allreduce_widened(ctx->user, type, data, n, combine, err);
    return ctx->user->ops->allreduce(ctx->user, data, n, type->type, combine, err);
}

int session_allreduce_match(raytrain_context *ctx, size_t n, raytrain_dtype dtype,
                            raytrain_op op, bool *devices)
{
    struct reduction r = {n, dtype, op};
    const struct session_call call = {CALL_ALLREDUCE_DEVICES, reduction_say, &r};
    const struct reducible *type;
    enum comm_op combine;

    if (reduction_find(dtype, op, &type, &combine, &ctx->error) < 0)
        return -1;
    collective_wait_begin(&ctx->waiting, "allreduce");
    return session_match_devices(ctx, &call, XXH3_64bits(&r, sizeof r), devices,
                                 &ctx->error);
}

int raytrain_allreduce(raytrain_context *ctx, void *data, size_t n,
                       raytrain_dtype dtype, raytrain_op op)
{
    if (!ctx)
        return session_null(ctx, __func__, "context");
    if (!data && n > 0)
        return session_null(ctx, __func__, "buffer");
    return session_status(ctx, allreduce(ctx, data, n, dtype, op));
}

int raytrain_allreduce_mean(raytrain_context *ctx, float *data, size_t n)
{
    return raytrain_allreduce(ctx, data, n, RAYTRAIN_FLOAT32, RAYTRAIN_MEAN);
}

/* ---- Broadcast ---- */

struct broadcast {
    uint64_t n_bytes;
    int64_t root;
};

static void broadcast_say(const void *arg, char text[CALL_TEXT_MAX])
{
    const struct broadcast *b = arg;

    snprintf(text, CALL_TEXT_MAX,
             "called raytrain_broadcast() of %" PRIu64 " bytes from rank %" PRId64,
             b->n_bytes, b->root);
}

/* Also for tensors, as reduction_say(). */
static int root_check(raytrain_context *ctx, int root)
{
    if (root >= 0 && root < ctx->comm->size)
        return 0;
    return error_set(&ctx->error, RAYTRAIN_EINVAL,
                     "raytrain_broadcast: there is no rank %d to broadcast from among "
                     "%d workers",
                     root, ctx->comm->size);
}

static int broadcast(raytrain_context *ctx, void *data, size_t n_bytes, int root)
{
    struct broadcast b = {n_bytes, root};
    struct session_call call = {CALL_BROADCAST, broadcast_say, &b};

    if (root_check(ctx, root) < 0)
        return -1;
    if (ctx->comm->size == 1)
        return 0;
    collective_wait_begin(&ctx->waiting, "broadcast");
    if (session_match_arguments(ctx, &call, XXH3_64bits(&b, sizeof b), &ctx->error) < 0)
        return -1;
    return ctx->user->ops->bcast(ctx->user, data, n_bytes, root, &ctx->error);
}

int session_broadcast_match(raytrain_context *ctx, size_t n_bytes, int root,
                            bool *devices)
{
    struct broadcast b = {n_bytes, root};
    const struct session_call call = {CALL_BROADCAST_DEVICES, broadcast_say, &b};

    if (root_check(ctx, root) < 0)
        return -1;
    collective_wait_begin(&ctx->waiting, "broadcast");
    return session_match_devices(ctx, &call, XXH3_64bits(&b, sizeof b), devices,
                                 &ctx->error);
}

int raytrain_broadcast(raytrain_context *ctx, void *data, size_t n_bytes, int root)
{
    if (!ctx)
        return session_null(ctx, __func__, "context");
    if (!data && n_bytes > 0)
        return session_null(ctx, __func__, "buffer");
    return session_status(ctx, broadcast(ctx, data, n_bytes, root));
}

/* ---- Allgather ---- */

static void allgather_say(const void *arg, char text[CALL_TEXT_MAX])
{
    snprintf(text, CALL_TEXT_MAX, "called raytrain_allgather() of %zu bytes",
             *(const size_t *)arg);
}

static int allgather(raytrain_context *ctx, const void *send, size_t n_bytes,
                     void *recv)
{
    struct session_call call = {CALL_ALLGATHER, allgather_say, &n_bytes};

    if (n_bytes > SIZE_MAX / (size_t)ctx->comm->size)
        return error_set(&ctx->error, RAYTRAIN_EINVAL,
                         "raytrain_allgather: %zu bytes from each of %d workers are "
                         "larger than any memory",
                         n_bytes, ctx->comm->size);
    if (ctx->comm->size == 1) {
        if (n_bytes > 0)
            memmove(recv, send, n_bytes);
        return 0;
    }
    collective_wait_begin(&ctx->waiting, "allgather");
    if (session_match_arguments(ctx, &call, XXH3_64bits(&n_bytes, sizeof n_bytes),
                                &ctx->error) < 0)
        return -1;
    if (n_bytes == 0)
        return 0;
    return ctx->user->ops->allgather(ctx->user, send, n_bytes, recv, &ctx->error);
}

int session_allgather_match(raytrain_context *ctx, size_t n_bytes, bool *devices)
{
    const struct session_call call = {CALL_ALLGATHER_DEVICES, allgather_say, &n_bytes};

    collective_wait_begin(&ctx->waiting, "allgather");
    return session_match_devices(ctx, &call, XXH3_64bits(&n_bytes, sizeof n_bytes),
                                 devices, &ctx->error);
}

int raytrain_allgather(raytrain_context *ctx, const void *send, size_t n_bytes,
                       void *recv)
{
    if (!ctx)
        return session_null(ctx, __func__, "context");
    if ((!send || !recv) && n_bytes > 0)
        return session_null(ctx, __func__, "buffer");
    return session_status(ctx, allgather(ctx, send, n_bytes, recv));
}

/* ---- Barrier ---- */

/* No rank returns from a matched allreduce before all have entered it. */
int raytrain_barrier(raytrain_context *ctx)
{
    const struct session_call call = {CALL_BARRIER, session_call_say, __func__};

    if (!ctx)
        return session_null(ctx, __func__, "context");
    if (ctx->comm->size == 1)
        return RAYTRAIN_OK;
    collective_wait_begin(&ctx->waiting, "barrier");
    return session_status(ctx, session_match_arguments(ctx, &call, 0, &ctx->error));
}
