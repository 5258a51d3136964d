/* collective_calls.c - the collectives of raytrain.h. */
#include "session/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

/* What is combined how: the type's comm_type, and whether a mean of it makes sense. */
static const struct {
    raytrain_dtype dtype;
    enum comm_type type;
    bool has_mean;
} reducible[] = {
    {RAYTRAIN_FLOAT32, COMM_FLOAT32, true},
    {RAYTRAIN_FLOAT64, COMM_FLOAT64, true},
    {RAYTRAIN_INT64, COMM_INT64, false},
};

static const struct {
    raytrain_op op;
    enum comm_op combine;
} ops[] = {
    {RAYTRAIN_SUM, COMM_SUM},
    {RAYTRAIN_MEAN, COMM_MEAN},
    {RAYTRAIN_MAX, COMM_MAX},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int reduction_find(raytrain_dtype dtype, raytrain_op op, enum comm_type *type,
                          enum comm_op *combine, struct error *err)
{
    size_t t = 0, o = 0;

    while (t < COUNT(reducible) && reducible[t].dtype != dtype)
        t++;
    if (t == COUNT(reducible))
        return error_set(err, RAYTRAIN_EINVAL,
                         "raytrain_allreduce: cannot combine elements of type %s: only "
                         "float32, float64 and int64",
                         raytrain_dtype_name(dtype));
    while (o < COUNT(ops) && ops[o].op != op)
        o++;
    if (o == COUNT(ops))
        return error_set(err, RAYTRAIN_EINVAL,
                         "raytrain_allreduce: there is no operation %d", (int)op);
    if (op == RAYTRAIN_MEAN && !reducible[t].has_mean)
        return error_set(err, RAYTRAIN_EINVAL,
                         "raytrain_allreduce: a mean of %s would be cut to an integer: "
                         "use a sum, or a floating-point type",
                         raytrain_dtype_name(dtype));
    *type = reducible[t].type;
    *combine = ops[o].combine;
    return 0;
}

struct reduction {
    uint64_t n;
    raytrain_dtype dtype;
    raytrain_op op;
};

static void reduction_say(const void *arg, char text[CALL_TEXT_MAX])
{
    static const char *const words[] = {
        [RAYTRAIN_SUM] = "sum", [RAYTRAIN_MEAN] = "mean", [RAYTRAIN_MAX] = "max"};
    const struct reduction *r = arg;

    snprintf(text, CALL_TEXT_MAX, "called raytrain_allreduce() of %" PRIu64 " %s (%s)",
             r->n, raytrain_dtype_name(r->dtype), words[r->op]);
}

/* What is small travels with the meeting itself. */
static int allreduce(raytrain_context *ctx, void *data, size_t n, raytrain_dtype dtype,
                     raytrain_op op)
{
    struct error *err = &ctx->error;
    struct reduction r = {n, dtype, op};
    struct session_call call = {CALL_ALLREDUCE, reduction_say, &r};
    enum comm_type type = COMM_FLOAT32;
    enum comm_op combine = COMM_SUM;

    if (reduction_find(dtype, op, &type, &combine, err) < 0)
        return -1;
    if (ctx->comm->size == 1)
        return 0;
    waiting_begin(&ctx->waiting, "allreduce");
    if (n > 0 && n <= COMM_MEET_BYTES / comm_type_size(type))
        return session_meet(ctx, &call, data, n, type, combine, err);
    call.kind = CALL_ALLREDUCE_LARGE;
    if (session_meet_same(ctx, &call, XXH3_64bits(&r, sizeof r), err) < 0)
        return -1;
    return ctx->user->ops->allreduce(ctx->user, data, n, type, combine, err);
}

int raytrain_allreduce(raytrain_context *ctx, void *data, size_t n,
                       raytrain_dtype dtype, raytrain_op op)
{
    if (!ctx)
        return session_null(ctx, "raytrain_allreduce", "context");
    if (!data && n > 0)
        return session_null(ctx, "raytrain_allreduce", "buffer");
    return session_status(ctx, allreduce(ctx, data, n, dtype, op));
}

int raytrain_allreduce_mean(raytrain_context *ctx, float *data, size_t n)
{
    return raytrain_allreduce(ctx, data, n, RAYTRAIN_FLOAT32, RAYTRAIN_MEAN);
}

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

static int broadcast(raytrain_context *ctx, void *data, size_t n_bytes, int root)
{
    struct broadcast b = {n_bytes, root};
    struct session_call call = {CALL_BROADCAST, broadcast_say, &b};

    if (root < 0 || root >= ctx->comm->size)
        return error_set(&ctx->error, RAYTRAIN_EINVAL,
                         "raytrain_broadcast: there is no rank %d among %d workers",
                         root, ctx->comm->size);
    if (ctx->comm->size == 1)
        return 0;
    waiting_begin(&ctx->waiting, "broadcast");
    if (session_meet_same(ctx, &call, XXH3_64bits(&b, sizeof b), &ctx->error) < 0)
        return -1;
    return ctx->user->ops->bcast(ctx->user, data, n_bytes, root, &ctx->error);
}

int raytrain_broadcast(raytrain_context *ctx, void *data, size_t n_bytes, int root)
{
    if (!ctx)
        return session_null(ctx, "raytrain_broadcast", "context");
    if (!data && n_bytes > 0)
        return session_null(ctx, "raytrain_broadcast", "buffer");
    return session_status(ctx, broadcast(ctx, data, n_bytes, root));
}

static void barrier_say(const void *arg, char text[CALL_TEXT_MAX])
{
    (void)arg;
    snprintf(text, CALL_TEXT_MAX, "called raytrain_barrier()");
}

/* No rank comes back from a meeting that another one has not come to. */
int raytrain_barrier(raytrain_context *ctx)
{
    const struct session_call call = {CALL_BARRIER, barrier_say, NULL};

    if (!ctx)
        return session_null(ctx, "raytrain_barrier", "context");
    if (ctx->comm->size == 1)
        return RAYTRAIN_OK;
    waiting_begin(&ctx->waiting, "barrier");
    return session_status(ctx, session_meet_same(ctx, &call, 0, &ctx->error));
}
