/*
 * session_comm.c - the collectives of raytrain.h, on a communicator of their own: what
 * a training function mixes up there cannot harm a report.
 */
#include "worker/session.h"

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

static int allreduce(raytrain_context *ctx, void *data, size_t n, raytrain_dtype dtype,
                     raytrain_op op)
{
    struct error *err = &ctx->error;
    enum comm_type type = COMM_FLOAT32;
    enum comm_op combine = COMM_SUM;
    struct comm *comm;

    if (reduction_find(dtype, op, &type, &combine, err) < 0)
        return -1;
    if (ctx->comm->size == 1)
        return 0;
    comm = session_user_comm(ctx, err);
    if (!comm)
        return -1;
    waiting_begin(&ctx->waiting, "allreduce");
    return comm->ops->allreduce(comm, data, n, type, combine, err);
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

static int broadcast(raytrain_context *ctx, void *data, size_t n_bytes, int root)
{
    struct comm *comm;

    if (root < 0 || root >= ctx->comm->size)
        return error_set(&ctx->error, RAYTRAIN_EINVAL,
                         "raytrain_broadcast: there is no rank %d among %d workers",
                         root, ctx->comm->size);
    if (ctx->comm->size == 1)
        return 0;
    comm = session_user_comm(ctx, &ctx->error);
    if (!comm)
        return -1;
    waiting_begin(&ctx->waiting, "broadcast");
    return comm->ops->bcast(comm, data, n_bytes, root, &ctx->error);
}

int raytrain_broadcast(raytrain_context *ctx, void *data, size_t n_bytes, int root)
{
    if (!ctx)
        return session_null(ctx, "raytrain_broadcast", "context");
    if (!data && n_bytes > 0)
        return session_null(ctx, "raytrain_broadcast", "buffer");
    return session_status(ctx, broadcast(ctx, data, n_bytes, root));
}

int raytrain_barrier(raytrain_context *ctx)
{
    struct comm *comm;

    if (!ctx)
        return session_null(ctx, "raytrain_barrier", "context");
    if (ctx->comm->size == 1)
        return RAYTRAIN_OK;
    comm = session_user_comm(ctx, &ctx->error);
    if (!comm)
        return session_status(ctx, -1);
    waiting_begin(&ctx->waiting, "barrier");
    return session_status(ctx, comm->ops->barrier(comm, &ctx->error));
}
