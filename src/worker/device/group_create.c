/*
 * group_create.c - the ranks agree on a group of GPUs, and create it; destroys it.
 *
 *   Seats          the GPU of each rank: can they form a group?
 *   The library    all ranks have it, in one version
 *   The group      a stream, and the library's communicator; its id travels through PMIx
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "device/group_impl.h"

/* ---- Seats ---- */

struct seat {
    int32_t device, rank;
    char node[64];
    char place[VENDOR_PLACE_MAX];
};

/* The name of a node: the random id of the running kernel, which containers share. */
static void node_name(char *name, size_t max)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool read = f && fgets(name, (int)max, f);

    if (f)
        fclose(f);
    if (!read && gethostname(name, max - 1) < 0)
        name[0] = '\0';
}

static int seat_find(const struct device_group_env *env, struct seat *seat,
                     struct error *err)
{
    struct device *device;
    int rc;

    memset(seat, 0, sizeof *seat);
    seat->device = env->device;
    seat->rank = env->comm->rank;
    if (env->device == RAYTRAIN_HOST)
        return 0;
    node_name(seat->node, sizeof seat->node);
    device = device_enter(env->device, env->id, err);
    if (!device)
        return -1;
    rc = device->vendor->device_place(env->id, seat->place, err);
    device_leave(device);
    return rc;
}

static int seat_compare(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    int node = strcmp(x->node, y->node), place = strcmp(x->place, y->place);

    return node ? node : place ? place : x->rank - y->rank;
}

/* Sorts the seats. -1, with an error that is the same on all ranks. */
static int seats_fit(struct seat *seats, int n, struct error *why)
{
    for (int r = 0; r < n; r++) {
        if (seats[r].device == RAYTRAIN_HOST)
            return error_set(why, RAYTRAIN_ENOTSUP, "rank %d has no GPU", r);
        if (seats[r].device != seats[0].device)
            return error_set(why, RAYTRAIN_ENOTSUP,
                             "ranks 0 and %d have GPUs of different vendors", r);
    }
    qsort(seats, (size_t)n, sizeof *seats, seat_compare);
    for (int i = 1; i < n; i++)
        if (strcmp(seats[i].node, seats[i - 1].node) == 0 &&
            strcmp(seats[i].place, seats[i - 1].place) == 0)
            return error_set(why, RAYTRAIN_ENOTSUP, "ranks %d and %d share GPU %s",
                             seats[i - 1].rank, seats[i].rank, seats[i].place);
    return 0;
}

/* COLLECTIVE. *fit: the GPUs can form a group; else *why has the reason. */
static int seats_agree(const struct device_group_env *env, bool *fit, struct error *why,
                       struct error *err)
{
    struct comm *comm = env->comm;
    struct seat *seats = calloc((size_t)comm->size, sizeof *seats), mine;
    int rc = seats ? seat_find(env, &mine, err) : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &mine, sizeof mine, seats, err);
    *fit = rc == 0 && seats_fit(seats, comm->size, why) == 0;
    free(seats);
    return rc;
}

/* ---- The library ---- */

static int collectives_open(const struct device_group_env *env,
                            const struct nccl **nccl, struct error *why)
{
    struct device *device = device_enter(env->device, env->id, why);
    const struct device_vendor *v;

    if (!device)
        return -1;
    v = device->vendor;
    device_leave(device);
    if (!v->collectives)
        return error_set(why, RAYTRAIN_ENOTSUP,
                         "there is no known library for collectives of %s GPUs",
                         v->name);
    return nccl_open(v->collectives, nccl, why);
}

/* COLLECTIVE. *fit: all ranks have it. */
static int library_agree(const struct device_group_env *env, const struct nccl **nccl,
                         bool *fit, struct error *why, struct error *err)
{
    struct comm *comm = env->comm;
    int64_t lanes[2];

    *fit = false;
    if (comm_agree(comm, collectives_open(env, nccl, why), why) < 0)
        return why->code == RAYTRAIN_ENOTSUP
                   ? 0
                   : error_set(err, why->code, "%s", why->text);
    lanes[0] = (*nccl)->version;
    lanes[1] = -lanes[0];
    if (comm->ops->allreduce(comm, lanes, 2, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    *fit = lanes[0] == -lanes[1];
    if (!*fit)
        error_set(why, RAYTRAIN_ENOTSUP,
                  "the ranks have different versions of %s: %d, up to %d",
                  (*nccl)->file, (int)lanes[0], (int)-lanes[1]);
    return 0;
}

/* ---- The library's communicator ---- */

/* COLLECTIVE */
static int nccl_id_share(const struct device_group_env *env, const struct nccl *nccl,
                         struct nccl_id *id, struct error *err)
{
    struct comm *comm = env->comm;
    int rc = 0, result;

    memset(id, 0, sizeof *id);
    if (comm->rank == 0) {
        result = nccl->ncclGetUniqueId(id);
        if (result != NCCL_SUCCESS)
            rc = nccl_fail(nccl, result, "ncclGetUniqueId", err);
    }
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    return env->share
               ? comm_agree(comm, env->share(env->share_arg, id, sizeof *id, err), err)
               : comm->ops->bcast(comm, id, sizeof *id, 0, err);
}

/* ---- The group ---- */

static void group_free(struct device_group *g)
{
    const struct device_vendor *v = g->device ? g->device->vendor : NULL;

    if (v && device_resume(g->device, NULL) == 0) {
        if (g->event)
            v->event_destroy(g->event);
        if (g->stream)
            v->stream_destroy(g->stream);
        if (g->trial.device)
            v->memory_free(g->trial.device);
        if (g->trial.host)
            v->pinned_free(g->trial.host);
        v->leave();
    }
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static struct device_group *group_new(const struct device_group_env *env,
                                      const struct nccl *nccl, struct error *err)
{
    struct device_group *g = calloc(1, sizeof *g);
    const struct device_vendor *v;
    int rc;

    if (!g) {
        error_no_memory(err);
        return NULL;
    }
    g->comm = env->comm;
    g->nccl = nccl;
    pthread_mutex_init(&g->lock, NULL);
    g->device = device_enter(env->device, env->id, err);
    if (g->device) {
        v = g->device->vendor;
        rc = v->stream_create(&g->stream, err);
        if (rc == 0)
            rc = v->event_create(&g->event, err);
        device_leave(g->device);
        if (rc == 0)
            return g;
    }
    group_free(g);
    return NULL;
}

/* COLLECTIVE */
static int group_make(const struct device_group_env *env, const struct nccl *nccl,
                      struct device_group **out, struct error *err)
{
    struct device_group *g = group_new(env, nccl, err);
    struct join *j = g ? group_join_new(g, err) : NULL;
    struct nccl_id id;
    int rc = comm_agree(env->comm, j ? 0 : -1, err);

    /* Wait for what the user has queued, so that it does not count against the
     * limit. */
    if (rc == 0)
        rc = comm_agree(env->comm, device_wait_caller(env->device, env->id, err), err);
    if (rc == 0)
        rc = nccl_id_share(env, nccl, &id, err);
    if (rc < 0)
        group_join_free(j);
    else if (!group_join(j, env, &id, &rc, err))
        return -1;
    if (rc == 0) {
        rc = comm_agree(env->comm, group_watch(g, err), err);
        if (rc < 0) {
            device_group_abort(g);
            group_unwatch(g);
        }
    }
    if (rc == 0)
        *out = g;
    else if (g)
        group_free(g);
    return rc;
}

int device_group_create(const struct device_group_env *env, struct device_group **out,
                        struct error *why, struct error *err)
{
    const struct nccl *nccl = NULL;
    bool fit;

    *out = NULL;
    if (seats_agree(env, &fit, why, err) < 0)
        return -1;
    if (fit && library_agree(env, &nccl, &fit, why, err) < 0)
        return -1;
    return fit ? group_make(env, nccl, out, err) : 0;
}

void device_group_destroy(struct device_group *g)
{
    const struct device_vendor *v;
    void *handle;

    if (!g)
        return;
    if (device_group_wait(g, NULL) < 0)
        device_group_abort(g);
    group_unwatch(g);
    v = g->device->vendor;
    handle = g->handle; /* no other thread uses it now */
    if (handle && device_resume(g->device, NULL) == 0) {
        g->nccl->ncclCommDestroy(handle);
        v->leave();
    }
    group_free(g);
}
