/*
 * collective_tensors.c - the collectives of raytrain.h for tensors, whose data may be on a
 * device: they are copied to host memory, and the result back. So ranks need not all have
 * them on the same kind of device, and get the bits of a call in host memory.
 */
#include "session/session.h"

#include <stdlib.h>

#include "checkpoint/slab.h"
#include "device/device.h"
#include "util/tensor.h"

/* A tensor of a call, and its data in host memory: its own, or room for a copy. */
struct staged {
    const raytrain_tensor *tensor;
    void *data;
    uint64_t bytes;
};

/* `touched`: the call reads or writes the data. */
static int staged_init(struct staged *s, const raytrain_tensor *t, bool touched,
                       struct error *err)
{
    s->tensor = t;
    if (checkpoint_check_tensor(t, NULL, &s->bytes, err) < 0)
        return -1;
    s->data = t->data;
    if (t->device == RAYTRAIN_HOST || s->bytes == 0)
        return 0;
    if (device_check(t->device, t->device_id, t->data, s->bytes, err) < 0)
        return -1;
    if (!touched)
        return 0;
    s->data = malloc(s->bytes);
    if (!s->data)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "no memory for a copy of a tensor of %llu bytes",
                         (unsigned long long)s->bytes);
    return 0;
}

static bool is_copy(const struct staged *s)
{
    return s->data && s->data != s->tensor->data;
}

static int staged_fetch(const struct staged *s, struct error *err)
{
    const raytrain_tensor *t = s->tensor;

    return is_copy(s)
               ? device_fetch(t->device, t->device_id, t->data, s->data, s->bytes, err)
               : 0;
}

static int staged_store(const struct staged *s, struct error *err)
{
    const raytrain_tensor *t = s->tensor;

    return is_copy(s) ? device_copy_in(t->device, t->device_id, t->data, s->data,
                                       s->bytes, err)
                      : 0;
}

static void staged_clear(struct staged *s)
{
    if (is_copy(s))
        free(s->data);
}

/* The status of a call: `status` is that of the collective, rc what came before or after. */
static int outcome(raytrain_context *ctx, const char *call, int rc, int status)
{
    if (rc < 0)
        error_prefix(&ctx->error, "%s", call);
    return rc < 0 ? session_status(ctx, rc) : status;
}

int raytrain_allreduce_tensor(raytrain_context *ctx, const raytrain_tensor *tensor,
                              raytrain_op op)
{
    struct staged s = {0};
    int rc, status = RAYTRAIN_OK;

    if (!ctx || !tensor)
        return session_null(ctx, __func__, ctx ? "tensor" : "context");
    rc = staged_init(&s, tensor, ctx->comm->size > 1, &ctx->error);
    if (rc == 0)
        rc = staged_fetch(&s, &ctx->error);
    if (rc == 0)
        status = raytrain_allreduce(ctx, s.data,
                                    s.bytes / raytrain_dtype_size(tensor->dtype),
                                    tensor->dtype, op);
    if (rc == 0 && status == RAYTRAIN_OK)
        rc = staged_store(&s, &ctx->error);
    staged_clear(&s);
    return outcome(ctx, __func__, rc, status);
}

int raytrain_broadcast_tensor(raytrain_context *ctx, const raytrain_tensor *tensor,
                              int root)
{
    struct staged s = {0};
    int rc, status = RAYTRAIN_OK;

    if (!ctx || !tensor)
        return session_null(ctx, __func__, ctx ? "tensor" : "context");
    rc = staged_init(&s, tensor, ctx->comm->size > 1, &ctx->error);
    if (rc == 0 && ctx->comm->rank == root)
        rc = staged_fetch(&s, &ctx->error);
    if (rc == 0)
        status = raytrain_broadcast(ctx, s.data, s.bytes, root);
    if (rc == 0 && status == RAYTRAIN_OK && ctx->comm->rank != root)
        rc = staged_store(&s, &ctx->error);
    staged_clear(&s);
    return outcome(ctx, __func__, rc, status);
}

static int gathered_check(const raytrain_context *ctx, const struct staged *send,
                          const struct staged *recv, struct error *err)
{
    if (send->tensor->dtype == recv->tensor->dtype &&
        send->bytes <= UINT64_MAX / (uint64_t)ctx->comm->size &&
        recv->bytes == send->bytes * (uint64_t)ctx->comm->size)
        return 0;
    return error_set(
        err, RAYTRAIN_ETYPE,
        "the tensor to receive has %llu bytes of %s; of %d workers it needs "
        "%d times %llu bytes of %s",
        (unsigned long long)recv->bytes, raytrain_dtype_name(recv->tensor->dtype),
        ctx->comm->size, ctx->comm->size, (unsigned long long)send->bytes,
        raytrain_dtype_name(send->tensor->dtype));
}

int raytrain_allgather_tensor(raytrain_context *ctx, const raytrain_tensor *send,
                              const raytrain_tensor *recv)
{
    struct staged from = {0}, to = {0};
    int rc, status = RAYTRAIN_OK;

    if (!ctx || !send || !recv)
        return session_null(ctx, __func__, ctx ? "tensor" : "context");
    rc = staged_init(&from, send, true, &ctx->error);
    if (rc == 0)
        rc = staged_init(&to, recv, true, &ctx->error);
    if (rc == 0)
        rc = gathered_check(ctx, &from, &to, &ctx->error);
    if (rc == 0)
        rc = staged_fetch(&from, &ctx->error);
    if (rc == 0)
        status = raytrain_allgather(ctx, from.data, from.bytes, to.data);
    if (rc == 0 && status == RAYTRAIN_OK)
        rc = staged_store(&to, &ctx->error);
    staged_clear(&to);
    staged_clear(&from);
    return outcome(ctx, __func__, rc, status);
}
