/*
 * comm_self.c - a communicator of one process: every collective is a copy, or nothing.
 * Backend "none" and the unit tests use it.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"

/* All requests are this one: an operation is complete as soon as it has started. */
struct comm_request {
    char unused;
};
static struct comm_request request_complete;

/* The header of what alloc returns, a cache line before the data. */
#define LINE 64
struct memory {
    struct memory *next;
};

struct self_comm {
    struct comm base; /* first */
    struct memory *memory;
};

static int self_check(enum comm_type type, enum comm_op op, struct error *err)
{
    if (comm_type_size(type) == 0)
        return error_set(err, RAYTRAIN_EINVAL, "reduction of an unknown type (%d)",
                         type);
    if ((type == COMM_STAT && op != COMM_SUM) ||
        (type == COMM_INT64 && op == COMM_MEAN) ||
        (op != COMM_SUM && op != COMM_MIN && op != COMM_MAX && op != COMM_MEAN))
        return error_set(err, RAYTRAIN_EINVAL,
                         "operation %d is not available for type %d", op, type);
    return 0;
}

static int root_check(int root, struct error *err)
{
    if (root != 0)
        return error_set(err, RAYTRAIN_EINVAL, "root is rank %d of 1", root);
    return 0;
}

static int self_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                          enum comm_op op, struct error *err)
{
    (void)c, (void)buf, (void)n;
    return self_check(type, op, err);
}

static int self_allreduce_matched(struct comm *c, int call, void *buf, size_t n,
                                  enum comm_type type, enum comm_op op, bool *same,
                                  struct error *err)
{
    (void)call;
    *same = true;
    return self_allreduce(c, buf, n, type, op, err);
}

static int self_iallreduce(struct comm *c, enum comm_place place, void *buf, size_t n,
                           enum comm_type type, enum comm_op op,
                           struct comm_request **req, struct error *err)
{
    *req = NULL;
    if (comm_check_place(c, place, err) < 0 ||
        self_allreduce(c, buf, n, type, op, err) < 0)
        return -1;
    *req = &request_complete;
    return 0;
}

static int self_ireduce_parts(struct comm *c, enum comm_place place, void *buf,
                              const size_t *cuts, enum comm_type type, enum comm_op op,
                              struct comm_request **req, struct error *err)
{
    return self_iallreduce(c, place, buf, cuts[1], type, op, req, err);
}

static int self_allgather_parts(struct comm *c, const struct comm_parts parts[],
                                size_t n, struct error *err)
{
    (void)c, (void)parts, (void)n, (void)err;
    return 0;
}

static int self_test(struct comm *c, struct comm_request **req, bool *done,
                     struct error *err)
{
    (void)c, (void)err;
    *req = NULL;
    *done = true;
    return 0;
}

static int self_alloc(struct comm *c, enum comm_place place, size_t n_bytes,
                      void **data, struct error *err)
{
    struct self_comm *self = (struct self_comm *)c;
    size_t room = LINE + (n_bytes + LINE - 1) / LINE * LINE;
    struct memory *m;

    *data = NULL;
    if (comm_check_place(c, place, err) < 0)
        return -1;
    m = room < n_bytes ? NULL : aligned_alloc(LINE, room);
    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", n_bytes);
    memset(m, 0, room);
    m->next = self->memory;
    self->memory = m;
    *data = (char *)m + LINE;
    return 0;
}

static int self_memory_file(struct comm *c, const void *data, struct comm_file *file,
                            struct error *err)
{
    (void)c, (void)data, (void)file;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "a single process has no memory to share with others");
}

static int self_bcast(struct comm *c, void *buf, size_t n_bytes, int root,
                      struct error *err)
{
    (void)c, (void)buf, (void)n_bytes;
    return root_check(root, err);
}

static int self_allgather(struct comm *c, const void *send, size_t n_bytes, void *recv,
                          struct error *err)
{
    (void)c, (void)err;
    if (n_bytes > 0)
        memmove(recv, send, n_bytes);
    return 0;
}

static int self_gatherv(struct comm *c, const void *send, size_t n_bytes, void **recv,
                        size_t *sizes, int root, struct error *err)
{
    (void)c;
    *recv = NULL;
    if (root_check(root, err) < 0)
        return -1;
    *recv = malloc(n_bytes > 0 ? n_bytes : 1);
    if (!*recv)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to gather %zu bytes",
                         n_bytes);
    if (n_bytes > 0)
        memcpy(*recv, send, n_bytes);
    if (sizes)
        sizes[0] = n_bytes;
    return 0;
}

/* Only "no rank" is allowed: there is no other rank. */
static int self_sendrecv(struct comm *c, const void *send, size_t n_send, int to,
                         void *recv, size_t n_recv, int from, struct error *err)
{
    (void)c;
    if (to > 0 || from > 0 || (to == 0) != (from == 0) || (to == 0 && n_send != n_recv))
        return error_set(err, RAYTRAIN_EINVAL, "from rank %d to rank %d, of 1", from,
                         to);
    if (to == 0 && n_send > 0)
        memmove(recv, send, n_send);
    return 0;
}

static int self_barrier(struct comm *c, struct error *err)
{
    (void)c, (void)err;
    return 0;
}

static int self_dup(struct comm *c, struct comm **out, struct error *err)
{
    (void)c;
    *out = comm_self_create(err);
    return *out ? 0 : -1;
}

static int self_split(struct comm *c, bool in, struct comm **out, struct error *err)
{
    *out = NULL;
    return in ? self_dup(c, out, err) : 0;
}

static void self_free(struct comm *c)
{
    struct self_comm *self = (struct self_comm *)c;

    while (self->memory) {
        struct memory *m = self->memory;

        self->memory = m->next;
        free(m);
    }
    free(self);
}

static const struct comm_ops self_ops = {
    .name = "self",
    .allreduce = self_allreduce,
    .iallreduce = self_iallreduce,
    .ireduce_parts = self_ireduce_parts,
    .test = self_test,
    .allreduce_matched = self_allreduce_matched,
    .alloc = self_alloc,
    .memory_file = self_memory_file,
    .bcast = self_bcast,
    .allgather = self_allgather,
    .allgather_parts = self_allgather_parts,
    .gatherv = self_gatherv,
    .sendrecv = self_sendrecv,
    .barrier = self_barrier,
    .dup = self_dup,
    .split_node = self_dup,
    .split = self_split,
    .free = self_free,
};

struct comm *comm_self_create(struct error *err)
{
    struct self_comm *self = calloc(1, sizeof *self);

    if (!self) {
        error_set(err, RAYTRAIN_ENOMEM, "no memory for a communicator");
        return NULL;
    }
    self->base.ops = &self_ops;
    self->base.size = 1;
    return &self->base;
}
