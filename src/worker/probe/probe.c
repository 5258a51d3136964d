/*
 * probe.c - the steps of --check on the ranks, as an ordinary training function, which
 * ends with a report and a checkpoint. What it tries is in the other files of this
 * room.
 */
#include "probe/probe.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gbdt/booster.h"
#include "hdf5/h5_facts.h"
#include "probe/device_trial.h"
#include "probe/link_speed.h"
#include "probe/rank_facts.h"
#include "probe/shared_storage.h"
#include "protocol/site_report.h"
#include "rank/event.h"
#include "run/run_dir.h"
#include "session/collectives.h"
#include "session/session.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"

#define N_SUMMED  1000
#define N_SAVED   (1 << 18) /* float32: 1 MiB */
#define HOST_ROOM 256

/* For copies to a GPU and back, whose driver may have to start. Shorter than the time
 * without a sign of progress after which the launcher reports a hang
 * (check/trial_run.c). */
#define DEVICE_LIMIT_S 40.0
/* How often a rank whose GPUs are slow shows that it is alive. */
#define SIGN_S 5.0

struct probe {
    raytrain_context *ctx;
    struct comm *comm;
    const struct world *world;
    const char *dir;
    json_t *report;
    int device; /* kind of this worker's GPU, or RAYTRAIN_HOST if a rank's fail */
    double signed_at;
};

/* ---- Steps ---- */

static int sum_try(struct probe *p, struct error *err)
{
    double values[N_SUMMED], n = p->comm->size;

    for (int i = 0; i < N_SUMMED; i++)
        values[i] = (p->comm->rank + 1) * (i + 1.0);
    if (p->comm->ops->allreduce(p->comm, values, N_SUMMED, COMM_FLOAT64, COMM_SUM,
                                err) < 0)
        return -1;
    for (int i = 0; i < N_SUMMED; i++)
        if (values[i] != n * (n + 1) / 2 * (i + 1))
            return error_set(err, RAYTRAIN_ECOMM,
                             "a sum over all ranks is wrong: %g, not %g; is one MPI "
                             "library mixed with another?",
                             values[i], n * (n + 1) / 2 * (i + 1));
    json_object_set_new(p->report, "allreduce", json_true());
    return 0;
}

static int facts_gather(struct probe *p, struct error *err)
{
    return rank_facts_gather(p->comm, p->world, p->dir, p->report, err);
}

/* Each node's first rank resolves the names of all other nodes. */
static int names_try(struct probe *p, struct error *err)
{
    char *hosts = calloc((size_t)p->comm->size, HOST_ROOM), mine[HOST_ROOM] = "";
    json_t *unresolved = json_array();
    int rc = hosts ? 0 : error_no_memory(err), asked = 0;

    snprintf(mine, sizeof mine, "%s", p->world->host);
    rc = comm_agree(p->comm, rc, err);
    if (rc == 0)
        rc = p->comm->ops->allgather(p->comm, mine, HOST_ROOM, hosts, err);
    for (int i = 0; rc == 0 && p->world->local_rank == 0 && i < p->comm->size; i++) {
        const char *host = hosts + (size_t)i * HOST_ROOM;
        struct addrinfo *found = NULL;

        if ((i > 0 && strcmp(host, host - HOST_ROOM) == 0) || asked == SITE_NAMES_MAX)
            continue;
        asked++;
        if (getaddrinfo(host, NULL, NULL, &found) != 0)
            json_array_append_new(unresolved, json_text(host));
        else
            freeaddrinfo(found);
    }
    free(hosts);
    if (rc < 0) {
        json_decref(unresolved);
        return -1;
    }
    return rank_facts_add(p->comm, p->world, "unresolved", unresolved, p->report, err);
}

/* The first rank of every other node compares its clock with that of rank 0, one after
 * the other. */
static int clocks_try(struct probe *p, struct error *err)
{
    int *leader = calloc((size_t)p->comm->size, sizeof *leader);
    int mine = p->world->local_rank == 0;
    double ahead = 0, error = 0;
    int rc = leader ? 0 : error_no_memory(err);

    rc = comm_agree(p->comm, rc, err);
    if (rc == 0)
        rc = p->comm->ops->allgather(p->comm, &mine, sizeof mine, leader, err);
    for (int i = 1; rc == 0 && i < p->comm->size; i++) {
        double to_first, its_error;

        if (!leader[i])
            continue;
        if (p->comm->rank == 0)
            rc = link_clock_compare(p->comm, i, &to_first, &its_error, err);
        else if (p->comm->rank == i)
            rc = link_clock_compare(p->comm, 0, &ahead, &error, err);
    }
    free(leader);
    if (rc == 0)
        rc = rank_facts_add(p->comm, p->world, "clock_s", json_real(ahead), p->report,
                            err);
    return rc < 0 ? -1
                  : rank_facts_add(p->comm, p->world, "clock_error_s", json_real(error),
                                   p->report, err);
}

/* The peer of rank 0: the first rank of another node, or else the last rank. */
static int link_peer(struct probe *p, int *peer, struct error *err)
{
    int *node = calloc((size_t)p->comm->size, sizeof *node);
    int rc = node ? 0 : error_no_memory(err);

    rc = comm_agree(p->comm, rc, err);
    if (rc == 0)
        rc = p->comm->ops->allgather(p->comm, &p->world->node_rank, sizeof *node, node,
                                     err);
    *peer = p->comm->size - 1;
    for (int i = p->comm->size - 1; rc == 0 && i > 0; i--)
        if (node[i] != node[0])
            *peer = i;
    free(node);
    return rc;
}

static int link_try(struct probe *p, struct error *err)
{
    struct link_speed speed = {0};
    int peer, rc, other;

    if (p->comm->size < 2)
        return 0;
    if (link_peer(p, &peer, err) < 0)
        return -1;
    if (p->comm->rank != 0 && p->comm->rank != peer)
        return 0;
    other = p->comm->rank == 0 ? peer : 0;
    rc = link_speed_measure(p->comm, other, &speed, err);
    if (rc == 0 && p->comm->rank == 0)
        json_object_set_new(p->report, "link",
                            json_pack("{s:i, s:f, s:f}", "rank", peer, "latency_s",
                                      speed.latency_s, "bytes_s", speed.bytes_s));
    return rc;
}

static int hdf5_try(struct probe *p, struct error *err)
{
    char *path = run_dir_file(p->dir, "hdf5-check.h5"), *failed;

    if (!path)
        return error_no_memory(err);
    if (p->comm->rank == 0) {
        failed = h5_file_try(path);
        json_object_set_new(p->report, "hdf5_file",
                            failed ? json_text(failed) : json_null());
        free(failed);
    }
    free(path);
    return 0;
}

static json_t *trees_version(const char *name)
{
    const struct booster_ops *ops = booster_find(name);
    char version[32] = "?";
    struct error err;

    if (!ops || ops->open(&err) < 0)
        return json_null();
    if (ops->version)
        ops->version(version);
    return json_text(version);
}

static int trees_try(struct probe *p, struct error *err)
{
    static const char *const names[] = {BOOSTERS(REGISTRY_WORD)};
    json_t *found;

    (void)err;
    if (p->comm->rank != 0)
        return 0;
    found = json_object();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        json_object_set_new(found, names[i], trees_version(names[i]));
    json_object_set_new(p->report, "trees", found);
    return 0;
}

static int shared_try(struct probe *p, struct error *err)
{
    json_t *seen;

    if (p->world->n_nodes < 2)
        return 0;
    if (shared_storage_try(p->comm, p->world, p->dir, &seen, err) < 0)
        return -1;
    return rank_facts_add(p->comm, p->world, "shared", seen, p->report, err);
}

/* Report and save a checkpoint as any training function does. */
static int checkpoint_try(struct probe *p, struct error *err)
{
    float *values = calloc(N_SAVED, sizeof *values);
    raytrain_tensor tensor = {
        .data = values, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {N_SAVED}};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(p->ctx);
    double start = clock_now();
    int rc;

    if (!values || !ck) {
        free(values);
        return error_no_memory(err);
    }
    for (int i = 0; i < N_SAVED; i++)
        values[i] = (float)i;
    rc = raytrain_checkpoint_put(ck, "values", &tensor);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_report(p->ctx, NULL, 0, ck);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_checkpoint_wait(p->ctx);
    free(values);
    if (rc != RAYTRAIN_OK)
        return error_set(err, (raytrain_status)rc, "%s", raytrain_last_error(p->ctx));
    json_object_set_new(p->report, "checkpoint_s", json_real(clock_now() - start));
    return 0;
}

/* Write what is known so far, in case the next step never ends. */
static int site_report_write(struct probe *p, struct error *err)
{
    char *path, *text;
    int rc = -1;

    if (p->comm->rank != 0)
        return 0;
    path = run_dir_file(p->ctx->env.log_dir, SITE_REPORT);
    text = json_dumps(p->report, JSON_COMPACT);
    if (!path || !text)
        error_no_memory(err);
    else
        rc = fs_replace(path, text, strlen(text), 0666, err);
    free(text);
    free(path);
    return rc;
}

/* ---- GPUs ---- */

/* The kind of the first GPU, if no GPU of this worker has failed. */
static int device_of(const json_t *devices)
{
    for (size_t i = 0; i < json_array_size(devices); i++)
        if (!json_is_null(json_object_get(json_array_get(devices, i), "failed")))
            return RAYTRAIN_HOST;
    return (int)json_integer_value(
        json_object_get(json_array_get(devices, 0), "device"));
}

static void device_tried(void *arg)
{
    struct probe *p = arg;
    double now = clock_now();

    if (now - p->signed_at < SIGN_S)
        return;
    p->signed_at = now;
    event_add_sign(p->ctx->env.log_dir);
}

static int devices_try(struct probe *p, struct error *err)
{
    const char *each = getenv("RAYTRAIN_GPUS_PER_WORKER");
    int n = each ? atoi(each) : 0;
    json_t *devices;
    int64_t able;

    p->signed_at = clock_now();
    devices =
        n > 0 ? device_trial_copies(n, DEVICE_LIMIT_S, device_tried, p) : json_null();
    p->device = device_of(devices);
    able = p->device != RAYTRAIN_HOST;
    if (rank_facts_each(p->comm, "devices", devices, p->report, err) < 0 ||
        p->comm->ops->allreduce(p->comm, &able, 1, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    if (!able)
        p->device = RAYTRAIN_HOST;
    return 0;
}

/* If the library fails, it does so on all ranks, and the check continues. But it ends
 * if a rank does not answer. */
static int device_sum_try(struct probe *p, struct error *err)
{
    json_t *sum;
    struct error why;

    if (p->device == RAYTRAIN_HOST)
        return 0;
    sum = json_object();
    json_object_set_new(p->report, "device_sum", sum);
    if (comm_agree(p->comm, site_report_write(p, err), err) < 0)
        return -1;
    /* NCCL's own limit, for all ranks to connect, begins now. */
    if (p->comm->rank == 0)
        event_add_sign(p->ctx->env.log_dir);
    if (device_trial_sum(p->ctx, p->device, sum, &why) < 0)
        json_object_set_new(sum, "failed", json_text(why.text));
    if (!p->ctx->devices.lost)
        return 0;
    if (site_report_write(p, err) == 0)
        error_set(err, why.code, "%s", why.text);
    return -1;
}

/* ---- The training function ---- */

static int probe_run(struct probe *p, struct error *err)
{
    static int (*const steps[])(struct probe * p, struct error * err) = {
        sum_try,   facts_gather, names_try,      clocks_try,  link_try,       hdf5_try,
        trees_try, shared_try,   checkpoint_try, devices_try, device_sum_try,
    };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int rc = steps[i](p, err);

        if (p->ctx->devices.lost || comm_agree(p->comm, rc, err) < 0 ||
            site_report_write(p, err) < 0)
            return -1;
    }
    return 0;
}

int raytrain_site_check(raytrain_context *ctx)
{
    struct probe p = {.ctx = ctx,
                      .world = ctx->env.world,
                      .dir = ctx->env.run_dir,
                      .report = json_object(),
                      .device = RAYTRAIN_HOST};
    struct error err;
    int rc = -1;

    p.comm = session_user_comm(ctx, &err);
    if (p.comm)
        rc = probe_run(&p, &err);
    json_decref(p.report);
    if (rc == 0)
        return 0;
    ctx->error = err;
    return err.code;
}
