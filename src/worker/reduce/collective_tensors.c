/*
 * collective_tensors.c - the collectives of raytrain.h for tensors, whose data may be
 * on a device.
 *
 * If the tensors of all ranks are on GPUs that can form a group (device_group.c), calls
 * are queued there. Else tensors on GPUs are copied to host memory, through pinned
 * pieces, and results back; but a call that only copies between ranks uses GPU memory
 * if the MPI library accepts it. So ranks may have their tensors on different kinds of
 * devices, and get the same bits as in host memory.
 */
#include "session/session.h"

#include <stdlib.h>

#include "checkpoint/slab.h"
#include "device/device.h"
#include "reduce/device_group.h"
#include "session/collective_calls.h"
#include "util/tensor.h"

/* A tensor of a call, and its data in host memory: the tensor's own, or a copy. */
struct staged_tensor {
    const raytrain_tensor *tensor; /* NULL: none */
    uint64_t bytes;
    void *data;
};

/* A call and its arguments. */
struct call {
    const char *name;
    raytrain_context *ctx;
    struct staged_tensor send, recv; /* a call in place has no `send` */
    raytrain_op op;
    int root;
    bool reads, writes; /* this rank's `recv` */
    bool copies;        /* ranks combine nothing */

    /* As in collective_calls.h. */
    int (*match)(const struct call *c, bool *devices);
    int (*queue)(const struct call *c, struct device_group *g, struct error *err);
    /* The call of raytrain.h, in host memory: a raytrain_status. */
    int (*host)(const struct call *c);
};

/* ---- Tensors ---- */

static int tensor_init(struct staged_tensor *s, struct error *err)
{
    const raytrain_tensor *t = s->tensor;

    if (!t)
        return 0;
    if (checkpoint_check_tensor(t, NULL, &s->bytes, err) < 0)
        return -1;
    s->data = t->data;
    if (t->device == RAYTRAIN_HOST || s->bytes == 0)
        return 0;
    return device_check(t->device, t->device_id, t->data, s->bytes, err);
}

static enum comm_place staged_place(const raytrain_tensor *t)
{
    switch ((raytrain_device)t->device) {
    case RAYTRAIN_CUDA:
        return COMM_CUDA;
    case RAYTRAIN_HIP:
        return COMM_HIP;
    case RAYTRAIN_HOST:
        break;
    }
    return COMM_HOST;
}

/* Allocate a copy, unless the communicator accepts the memory as it is. */
static int staged_room(struct staged_tensor *s, const struct comm *direct,
                       struct error *err)
{
    const raytrain_tensor *t = s->tensor;

    if (!t || t->device == RAYTRAIN_HOST || s->bytes == 0)
        return 0;
    if (direct && comm_reaches(direct, staged_place(t)))
        return device_wait_caller(t->device, t->device_id, err);
    s->data = malloc(s->bytes);
    if (!s->data)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "no memory for a copy of a tensor of %llu bytes",
                         (unsigned long long)s->bytes);
    return 0;
}

static bool is_copy(const struct staged_tensor *s)
{
    return s->tensor && s->data && s->data != s->tensor->data;
}

static int staged_fetch(const struct staged_tensor *s, struct error *err)
{
    const raytrain_tensor *t = s->tensor;

    return is_copy(s)
               ? device_fetch(t->device, t->device_id, t->data, s->data, s->bytes, err)
               : 0;
}

static int staged_store(const struct staged_tensor *s, struct error *err)
{
    const raytrain_tensor *t = s->tensor;

    return is_copy(s) ? device_copy_in(t->device, t->device_id, t->data, s->data,
                                       s->bytes, err)
                      : 0;
}

static void staged_clear(struct staged_tensor *s)
{
    if (is_copy(s))
        free(s->data);
}

static size_t elements(const struct staged_tensor *s)
{
    return s->bytes / raytrain_dtype_size(s->tensor->dtype);
}

/* ---- A call ---- */

static int call_failed(const struct call *c)
{
    error_prefix(&c->ctx->error, "%s", c->name);
    return session_status(c->ctx, -1);
}

static int staged_begin(struct call *c, struct error *err)
{
    const struct comm *direct = c->copies ? c->ctx->comm : NULL;

    if (staged_room(&c->send, direct, err) < 0 ||
        staged_room(&c->recv, direct, err) < 0 || staged_fetch(&c->send, err) < 0)
        return -1;
    return c->reads ? staged_fetch(&c->recv, err) : 0;
}

static int host_run(struct call *c)
{
    int rc = staged_begin(c, &c->ctx->error), status = RAYTRAIN_OK;

    if (rc == 0)
        status = c->host(c);
    if (rc == 0 && status == RAYTRAIN_OK && c->writes)
        rc = staged_store(&c->recv, &c->ctx->error);
    staged_clear(&c->recv);
    staged_clear(&c->send);
    return rc < 0 ? call_failed(c) : status;
}

static bool devices_may(const struct call *c)
{
    const raytrain_tensor *recv = c->recv.tensor, *send = c->send.tensor;

    return session_devices_may(c->ctx, recv) &&
           (!send ||
            (send->device == recv->device && send->device_id == recv->device_id));
}

static int devices_queue(const struct call *c, struct device_group *g,
                         struct error *err)
{
    return device_group_begin(g, err) < 0 || c->queue(c, g, err) < 0
               ? -1
               : device_group_end(g, err);
}

/* *made: the call was made on GPUs, and the status is its result. */
static int devices_run(const struct call *c, bool *made)
{
    struct error *err = &c->ctx->error;
    struct device_group *g = NULL;
    bool devices = false;

    *made = true;
    if (c->match(c, &devices) < 0)
        return session_status(c->ctx, -1);
    if (devices && session_devices(c->ctx, c->recv.tensor, &g, err) < 0)
        return call_failed(c);
    *made = g != NULL;
    return g && devices_queue(c, g, err) < 0 ? call_failed(c) : RAYTRAIN_OK;
}

/* Make the call; its tensors have been checked. */
static int call_run(struct call *c)
{
    bool made = false;
    int status = RAYTRAIN_OK;

    if (c->ctx->comm->size > 1 && devices_may(c))
        status = devices_run(c, &made);
    return made ? status : host_run(c);
}

/* ---- Allreduce ---- */

static int allreduce_match(const struct call *c, bool *devices)
{
    return session_allreduce_match(c->ctx, elements(&c->recv), c->recv.tensor->dtype,
                                   c->op, devices);
}

static int allreduce_queue(const struct call *c, struct device_group *g,
                           struct error *err)
{
    const struct device_span span = {c->recv.data, elements(&c->recv)};

    return device_group_allreduce(g, &span, 1, c->recv.tensor->dtype, c->op, err);
}

static int allreduce_host(const struct call *c)
{
    return raytrain_allreduce(c->ctx, c->recv.data, elements(&c->recv),
                              c->recv.tensor->dtype, c->op);
}

int raytrain_allreduce_tensor(raytrain_context *ctx, const raytrain_tensor *tensor,
                              raytrain_op op)
{
    struct call c = {.name = __func__,
                     .ctx = ctx,
                     .recv = {.tensor = tensor},
                     .op = op,
                     .match = allreduce_match,
                     .queue = allreduce_queue,
                     .host = allreduce_host};

    if (!ctx || !tensor)
        return session_null(ctx, __func__, ctx ? "tensor" : "context");
    if (tensor_init(&c.recv, &ctx->error) < 0)
        return call_failed(&c);
    if (ctx->comm->size == 1)
        return allreduce_host(&c); /* checks the arguments */
    c.reads = c.writes = true;
    return call_run(&c);
}

/* ---- Broadcast ---- */

static int broadcast_match(const struct call *c, bool *devices)
{
    return session_broadcast_match(c->ctx, c->recv.bytes, c->root, devices);
}

static int broadcast_queue(const struct call *c, struct device_group *g,
                           struct error *err)
{
    return device_group_broadcast(g, c->recv.data, c->recv.bytes, c->root, err);
}

static int broadcast_host(const struct call *c)
{
    return raytrain_broadcast(c->ctx, c->recv.data, c->recv.bytes, c->root);
}

int raytrain_broadcast_tensor(raytrain_context *ctx, const raytrain_tensor *tensor,
                              int root)
{
    struct call c = {.name = __func__,
                     .ctx = ctx,
                     .recv = {.tensor = tensor},
                     .root = root,
                     .copies = true,
                     .match = broadcast_match,
                     .queue = broadcast_queue,
                     .host = broadcast_host};

    if (!ctx || !tensor)
        return session_null(ctx, __func__, ctx ? "tensor" : "context");
    if (tensor_init(&c.recv, &ctx->error) < 0)
        return call_failed(&c);
    if (ctx->comm->size == 1)
        return broadcast_host(&c); /* checks the arguments */
    c.reads = ctx->comm->rank == root;
    c.writes = !c.reads;
    return call_run(&c);
}

/* ---- Allgather ---- */

static int gathered_check(const struct call *c, struct error *err)
{
    const struct staged_tensor *send = &c->send, *recv = &c->recv;
    const int size = c->ctx->comm->size;

    if (send->tensor->dtype == recv->tensor->dtype &&
        send->bytes <= UINT64_MAX / (uint64_t)size &&
        recv->bytes == send->bytes * (uint64_t)size)
        return 0;
    return error_set(
        err, RAYTRAIN_ETYPE,
        "the tensor to receive has %llu bytes of %s; of %d workers it needs "
        "%d times %llu bytes of %s",
        (unsigned long long)recv->bytes, raytrain_dtype_name(recv->tensor->dtype), size,
        size, (unsigned long long)send->bytes,
        raytrain_dtype_name(send->tensor->dtype));
}

static int allgather_match(const struct call *c, bool *devices)
{
    return session_allgather_match(c->ctx, c->send.bytes, devices);
}

static int allgather_queue(const struct call *c, struct device_group *g,
                           struct error *err)
{
    return device_group_allgather(g, c->send.data, c->send.bytes, c->recv.data, err);
}

static int allgather_host(const struct call *c)
{
    return raytrain_allgather(c->ctx, c->send.data, c->send.bytes, c->recv.data);
}

int raytrain_allgather_tensor(raytrain_context *ctx, const raytrain_tensor *send,
                              const raytrain_tensor *recv)
{
    struct call c = {.name = __func__,
                     .ctx = ctx,
                     .send = {.tensor = send},
                     .recv = {.tensor = recv},
                     .writes = true,
                     .copies = ctx && ctx->comm->size > 1,
                     .match = allgather_match,
                     .queue = allgather_queue,
                     .host = allgather_host};

    if (!ctx || !send || !recv)
        return session_null(ctx, __func__, ctx ? "tensor" : "context");
    if (tensor_init(&c.send, &ctx->error) < 0 ||
        tensor_init(&c.recv, &ctx->error) < 0 || gathered_check(&c, &ctx->error) < 0)
        return call_failed(&c);
    return call_run(&c);
}
