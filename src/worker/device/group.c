/*
 * group.c - queues collectives on a group's stream, and waits for them. group_create.c
 * makes groups, group_watch.c handles their failures.
 *
 * If the communicator does not block, the library continues a call in a thread of its
 * own: from NCCL 2.23 on each call, before that while connections are made. Such a call
 * is waited for, which takes tens of microseconds, and longer at the first collective
 * of a kind.
 */
#include "config.h"

#include "device/group_impl.h"

#include <sched.h>

#include "device/parts_plan.h"

#define POLLS 64 /* of a call in progress, before the first nap */

/* ---- Calls of the library ---- */

/* Take the lock and make the GPU's context current, until group_leave(); on failure
 * (-1), neither. */
static int group_enter(struct device_group *g, struct error *err)
{
    pthread_mutex_lock(&g->lock);
    if (group_check_locked(g, err) == 0 && device_resume(g->device, err) == 0)
        return 0;
    pthread_mutex_unlock(&g->lock);
    return -1;
}

static void group_leave(struct device_group *g)
{
    g->device->vendor->leave();
    pthread_mutex_unlock(&g->lock);
}

/* Wait for a call that continues in a thread of the library: nothing may be queued on
 * the stream before it is done. */
static int progress_wait(struct device_group *g)
{
    struct group_nap nap = {0};
    int error = NCCL_IN_PROGRESS, rc = NCCL_SUCCESS;

    for (unsigned polls = 0;
         rc == NCCL_SUCCESS && error == NCCL_IN_PROGRESS && !atomic_load(&g->given_up);
         polls++) {
        if (polls < POLLS)
            sched_yield();
        else
            group_nap(&nap, g->comm);
        rc = g->nccl->ncclCommGetAsyncError(g->handle, &error);
    }
    return rc != NCCL_SUCCESS ? rc : error;
}

/* Turn the result of a call into 0, or -1, after which the group has failed. */
static int group_outcome(struct device_group *g, int result, const char *function,
                         struct error *err)
{
    if (result == NCCL_IN_PROGRESS)
        result = progress_wait(g);
    if (result == NCCL_SUCCESS)
        return 0;
    if (result == NCCL_IN_PROGRESS) /* the wait was given up */
        group_abort_locked(g);
    else
        group_fail_locked(g, result, function);
    return error_set(err, g->failure.code, "%s", g->failure.text);
}

/* Calls between NCCL's GroupStart and GroupEnd, which are only recorded until
 * GroupEnd. */
struct calls {
    struct device_group *g;
    int result; /* the first that is not NCCL_SUCCESS */
};

static int calls_begin(struct calls *c, struct device_group *g, struct error *err)
{
    *c = (struct calls){g, NCCL_SUCCESS};
    if (group_enter(g, err) < 0)
        return -1;
    if (group_outcome(g, g->nccl->ncclGroupStart(), "ncclGroupStart", err) == 0)
        return 0;
    group_leave(g);
    return -1;
}

static void calls_add(struct calls *c, int result)
{
    if (c->result == NCCL_SUCCESS && result != NCCL_IN_PROGRESS)
        c->result = result;
}

static int calls_end(struct calls *c, const char *function, struct error *err)
{
    int result = c->g->nccl->ncclGroupEnd(), rc;

    rc = group_outcome(c->g, c->result != NCCL_SUCCESS ? c->result : result, function,
                       err);
    group_leave(c->g);
    return rc;
}

/* ---- Order with the caller's stream ---- */

int device_group_begin(struct device_group *g, struct error *err)
{
    int rc;

    if (group_enter(g, err) < 0)
        return -1;
    rc = device_after_caller(g->device, g->event, err);
    if (rc == 0)
        rc = g->device->vendor->stream_wait(g->stream, g->event, err);
    group_leave(g);
    return rc;
}

int device_group_end(struct device_group *g, struct error *err)
{
    int rc;

    if (group_enter(g, err) < 0)
        return -1;
    rc = g->device->vendor->event_record(g->event, g->stream, err);
    if (rc == 0)
        rc = device_before_caller(g->device, g->event, err);
    group_leave(g);
    return rc;
}

/* ---- Collectives ---- */

int device_group_allreduce(struct device_group *g, const struct device_span spans[],
                           size_t n, raytrain_dtype dtype, raytrain_op op,
                           struct error *err)
{
    struct calls c;
    int type, combine;

    if (nccl_reduction(dtype, op, &type, &combine, err) < 0 ||
        calls_begin(&c, g, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (spans[i].n > 0)
            calls_add(&c,
                      g->nccl->ncclAllReduce(spans[i].data, spans[i].data, spans[i].n,
                                             type, combine, g->handle, g->stream));
    return calls_end(&c, "ncclAllReduce", err);
}

/* ---- Parts of ranks ---- */

/* Windows begin at multiples of this number of bytes, with which the library is
 * faster. */
#define WINDOW_ALIGNMENT 16

struct parts {
    char *data;
    const size_t *cuts; /* in elements */
    size_t width;       /* of an element */
    int type;           /* of the library */
    struct parts_plan plan;
};

static struct parts parts_of(const struct device_group *g, void *data,
                             const size_t cuts[], size_t width, int type)
{
    return (struct parts){
        data, cuts, width, type,
        parts_plan(cuts, g->comm->size,
                   width < WINDOW_ALIGNMENT ? WINDOW_ALIGNMENT / width : 1)};
}

static size_t part_elements(const struct parts *p, int rank)
{
    return p->cuts[rank + 1] - p->cuts[rank];
}

static char *part_data(const struct parts *p, int rank)
{
    return p->data + p->cuts[rank] * p->width;
}

/* Elements that are in the window of one rank and in the part of its neighbour: from
 * the window to the part, or from the part to the window. */
static int gaps_send(struct device_group *g, const struct parts *p, bool to_part,
                     struct error *err)
{
    const int rank = g->comm->rank;
    struct parts_gap gap;
    struct calls c;

    if (calls_begin(&c, g, err) < 0)
        return -1;
    for (int k = rank > 0 ? rank : 1; k <= rank + 1 && k < g->comm->size; k++) {
        int from, to;
        char *at;

        if (!parts_gap(&p->plan, p->cuts, k, &gap))
            continue;
        from = to_part ? gap.holder : gap.owner;
        to = to_part ? gap.owner : gap.holder;
        at = p->data + gap.first * p->width;
        calls_add(&c, from == rank ? g->nccl->ncclSend(at, gap.n, p->type, to,
                                                       g->handle, g->stream)
                                   : g->nccl->ncclRecv(at, gap.n, p->type, from,
                                                       g->handle, g->stream));
    }
    return calls_end(&c, "ncclSend", err);
}

/* The number of elements after the windows of all ranks. */
static size_t rest_elements(const struct parts *p, int size)
{
    return p->cuts[size] - p->plan.window * (size_t)size;
}

static char *window_data(const struct parts *p, int rank)
{
    return p->data + p->plan.window * (size_t)rank * p->width;
}

static void windows_reduce(struct calls *c, const struct parts *p, int combine)
{
    struct device_group *g = c->g;
    const int size = g->comm->size;
    char *rest = window_data(p, size);

    calls_add(c, g->nccl->ncclReduceScatter(p->data, window_data(p, g->comm->rank),
                                            p->plan.window, p->type, combine, g->handle,
                                            g->stream));
    if (rest_elements(p, size) > 0)
        calls_add(c, g->nccl->ncclReduce(rest, rest, rest_elements(p, size), p->type,
                                         combine, size - 1, g->handle, g->stream));
}

static void each_reduce(struct calls *c, const struct parts *p, int combine)
{
    struct device_group *g = c->g;

    for (int r = 0; r < g->comm->size; r++)
        if (part_elements(p, r) > 0)
            calls_add(c, g->nccl->ncclReduce(part_data(p, r), part_data(p, r),
                                             part_elements(p, r), p->type, combine, r,
                                             g->handle, g->stream));
}

int device_group_reduce_parts(struct device_group *g, void *data, const size_t cuts[],
                              raytrain_dtype dtype, raytrain_op op, struct error *err)
{
    struct parts p;
    struct calls c;
    int type, combine;

    if (nccl_reduction(dtype, op, &type, &combine, err) < 0)
        return -1;
    p = parts_of(g, data, cuts, raytrain_dtype_size(dtype), type);
    if (calls_begin(&c, g, err) < 0)
        return -1;
    switch (p.plan.way) {
    case PARTS_WINDOWS:
        windows_reduce(&c, &p, combine);
        return calls_end(&c, "ncclReduceScatter", err) < 0
                   ? -1
                   : gaps_send(g, &p, true, err);
    case PARTS_EACH:
        each_reduce(&c, &p, combine);
        break;
    case PARTS_WHOLE:
        calls_add(&c, g->nccl->ncclAllReduce(data, data, cuts[g->comm->size], type,
                                             combine, g->handle, g->stream));
        break;
    }
    return calls_end(&c, "ncclReduce", err);
}

static void windows_gather(struct calls *c, const struct parts *p)
{
    struct device_group *g = c->g;
    const int size = g->comm->size;
    char *rest = window_data(p, size);

    calls_add(c, g->nccl->ncclAllGather(window_data(p, g->comm->rank), p->data,
                                        p->plan.window, p->type, g->handle, g->stream));
    if (rest_elements(p, size) > 0)
        calls_add(c, g->nccl->ncclBroadcast(rest, rest, rest_elements(p, size), p->type,
                                            size - 1, g->handle, g->stream));
}

static void each_gather(struct calls *c, const struct parts *p)
{
    struct device_group *g = c->g;

    for (int r = 0; r < g->comm->size; r++)
        if (part_elements(p, r) > 0)
            calls_add(c, g->nccl->ncclBroadcast(part_data(p, r), part_data(p, r),
                                                part_elements(p, r), p->type, r,
                                                g->handle, g->stream));
}

/* Set the bytes of other ranks to zero, so that the sum over all ranks has the bytes of
 * each. */
static int others_clear(struct device_group *g, const struct parts *p,
                        struct error *err)
{
    const struct device_vendor *v = g->device->vendor;
    const int rank = g->comm->rank;
    size_t begin = p->cuts[rank], end = p->cuts[rank + 1], all = p->cuts[g->comm->size];
    int rc = 0;

    if (group_enter(g, err) < 0)
        return -1;
    if (begin > 0)
        rc = v->clear(p->data, begin, g->stream, err);
    if (rc == 0 && end < all)
        rc = v->clear(p->data + end, all - end, g->stream, err);
    group_leave(g);
    return rc;
}

int device_group_allgather_parts(struct device_group *g, void *data,
                                 const size_t cuts[], struct error *err)
{
    struct parts p = parts_of(g, data, cuts, 1, NCCL_UINT8);
    struct calls c;

    if ((p.plan.way == PARTS_WINDOWS && gaps_send(g, &p, false, err) < 0) ||
        (p.plan.way == PARTS_WHOLE && others_clear(g, &p, err) < 0) ||
        calls_begin(&c, g, err) < 0)
        return -1;
    switch (p.plan.way) {
    case PARTS_WINDOWS:
        windows_gather(&c, &p);
        break;
    case PARTS_EACH:
        each_gather(&c, &p);
        break;
    case PARTS_WHOLE:
        calls_add(&c, g->nccl->ncclAllReduce(data, data, cuts[g->comm->size], p.type,
                                             NCCL_SUM, g->handle, g->stream));
        break;
    }
    return calls_end(&c, "ncclAllGather", err);
}

/* ---- Copies ---- */

int device_group_broadcast(struct device_group *g, void *data, size_t bytes, int root,
                           struct error *err)
{
    int rc = 0;

    if (group_enter(g, err) < 0)
        return -1;
    if (bytes > 0)
        rc = group_outcome(g,
                           g->nccl->ncclBroadcast(data, data, bytes, NCCL_INT8, root,
                                                  g->handle, g->stream),
                           "ncclBroadcast", err);
    group_leave(g);
    return rc;
}

int device_group_allgather(struct device_group *g, const void *send, size_t bytes,
                           void *recv, struct error *err)
{
    int rc = 0;

    if (group_enter(g, err) < 0)
        return -1;
    if (bytes > 0)
        rc = group_outcome(
            g,
            g->nccl->ncclAllGather(send, recv, bytes, NCCL_INT8, g->handle, g->stream),
            "ncclAllGather", err);
    group_leave(g);
    return rc;
}

/* ---- Waiting ---- */

static int queue_mark(struct device_group *g, struct error *err)
{
    int rc;

    if (group_enter(g, err) < 0)
        return -1;
    rc = g->device->vendor->event_record(g->event, g->stream, err);
    group_leave(g);
    return rc;
}

static int mark_look(struct device_group *g, bool *done, struct error *err)
{
    int rc;

    if (group_enter(g, err) < 0)
        return -1;
    rc = g->device->vendor->event_done(g->event, done, err);
    group_leave(g);
    return rc;
}

/* Polls rather than waiting in the driver: a kernel that waits for a rank that is gone
 * ends only when the group is aborted. */
int device_group_wait(struct device_group *g, struct error *err)
{
    struct group_nap nap = {0};
    bool done = false;

    if (queue_mark(g, err) < 0 || mark_look(g, &done, err) < 0)
        return -1;
    while (!done) {
        group_nap(&nap, g->comm);
        if (mark_look(g, &done, err) < 0)
            return -1;
    }
    return 0;
}
