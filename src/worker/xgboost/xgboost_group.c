/*
 * xgboost_group.c - starts a tracker, and joins and leaves the library's group of
 * members. rabit_tracker.c is raytrain's own tracker.
 */
#include "config.h"

#include "xgboost/xgboost_group.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/rendezvous.h"
#include "xgboost/rabit_tracker.h"
#include "util/thread.h"

/* If a member dies, its connections are closed, and the others see it. A slow member,
 * with more rows or on a slower node, is not an error, so XGBoost's limit of 10 minutes
 * is too short; the launcher watches for hangs. */
#define PATIENCE_S 86400

struct xgboost_group {
    const struct xgboost_library *x;
    struct comm *c;
    struct rabit_tracker *rabit; /* of rank 0, up to 2.0 */
    void *tracker;               /* of rank 0, since 2.1 */
    bool joined;
    sigset_t signals; /* those that were blocked before */
};

/* What rank 0 sends to all members. */
struct meeting {
    unsigned char secret[RABIT_SECRET_BYTES];
    char host[INET6_ADDRSTRLEN];
    int port;
};

/* ---- Where to meet ---- */

/* The nodes of the members, which may be fewer than those of the run. */
static int members_world(struct comm *c, const struct world *world, struct world *out,
                         struct error *err)
{
    int *nodes = malloc((size_t)c->size * sizeof *nodes), rc;
    bool one = true;

    *out = *world;
    rc = comm_agree(c, nodes ? 0 : error_no_memory(err), err);
    if (rc == 0)
        rc = c->ops->allgather(c, &world->node_rank, sizeof *nodes, nodes, err);
    for (int r = 1; rc == 0 && r < c->size; r++)
        one = one && nodes[r] == nodes[0];
    if (one)
        out->n_nodes = 1;
    free(nodes);
    return rc;
}

/* The library's own tracker, at this address. */
static int tracker_start(struct xgboost_group *g, struct meeting *m, struct error *err)
{
    const struct xgboost_library *x = g->x;
    const char *text = NULL;
    char *config = NULL;
    json_t *args = NULL;
    int rc;
    json_t *wanted = json_pack("{s:s, s:i, s:s, s:i, s:i}", "dmlc_communicator",
                               "rabit", "n_workers", g->c->size, "host", m->host,
                               "sortby", 1 /* task id */, "timeout", PATIENCE_S);

    config = wanted ? json_dumps(wanted, JSON_COMPACT) : NULL;
    json_decref(wanted);
    if (!config)
        return error_no_memory(err);
    rc = x->XGTrackerCreate(config, &g->tracker);
    free(config);
    if (rc != 0 || x->XGTrackerRun(g->tracker, "{}") != 0 ||
        x->XGTrackerWorkerArgs(g->tracker, &text) != 0)
        return xgboost_fail(x, RAYTRAIN_ECOMM, "XGBoost's tracker", err);
    args = json_loads(text, 0, NULL);
    m->port = (int)json_integer_value(json_object_get(args, "dmlc_tracker_port"));
    json_decref(args);
    if (m->port > 0)
        return 0;
    return error_set(
        err, RAYTRAIN_ECOMM,
        "this version of raytrain does not understand how XGBoost %d.%d.%d "
        "gives the port of its tracker",
        x->major, x->minor, x->patch);
}

static int meeting_open(struct xgboost_group *g, struct rendezvous *r,
                        struct meeting *m, struct error *err)
{
    int fd = r->socket;

    if (getentropy(m->secret, sizeof m->secret) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "getentropy: %s", strerror(errno));
    memcpy(m->host, r->seats[0].address, sizeof m->host);
    m->port = r->seats[0].port;
    if (g->x->XGTrackerCreate)
        return tracker_start(g, m, err);
    r->socket = -1;
    return rabit_tracker_start(fd, g->c->size, m->secret, &g->rabit, err);
}

static int meeting_make(struct xgboost_group *g, const struct world *world,
                        struct meeting *m, struct error *err)
{
    struct rendezvous r;
    struct world here;
    int rc;

    if (members_world(g->c, world, &here, err) < 0 ||
        rendezvous_make(g->c, &here, RANK_0_LISTENS, &r, err) < 0)
        return -1;
    rc = g->c->rank == 0 ? meeting_open(g, &r, m, err) : 0;
    rendezvous_clear(&r);
    rc = comm_agree(g->c, rc, err);
    return rc == 0 ? g->c->ops->bcast(g->c, m, sizeof *m, 0, err) : -1;
}

/* ---- Join and leave ---- */

/* Block SIGPIPE: XGBoost writes to connections whose other end may be closed, and
 * reports that as an error. Only the training thread does so, and threads that it
 * starts from now on. */
static void pipes_quiet(struct xgboost_group *g)
{
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &g->signals);
}

static void pipes_loud(struct xgboost_group *g)
{
    const struct timespec now = {0, 0};
    sigset_t pipe;

    if (sigismember(&g->signals, SIGPIPE) == 1)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, NULL, &now) == SIGPIPE)
        ;
    pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
}

/* Names differ between versions. One try is enough, since the tracker listens already;
 * a member that leaves must not wait for a tracker that has ended. */
static json_t *member_config(const struct xgboost_group *g, const struct meeting *m)
{
    char task[RABIT_TASK_MAX];

    rabit_task_id(g->c->rank, m->secret, task);
    if (g->x->XGTrackerCreate)
        return json_pack("{s:s, s:s, s:i, s:s, s:i, s:i}", "dmlc_communicator", "rabit",
                         "dmlc_tracker_uri", m->host, "dmlc_tracker_port", m->port,
                         "dmlc_task_id", task, "dmlc_retry", 1, "dmlc_timeout",
                         PATIENCE_S);
    return json_pack("{s:s, s:s, s:i, s:s, s:i, s:i, s:s}", "xgboost_communicator",
                     "rabit", "rabit_tracker_uri", m->host, "rabit_tracker_port",
                     m->port, "rabit_task_id", task, "DMLC_WORKER_CONNECT_RETRY", 1,
                     "rabit_timeout_sec", PATIENCE_S, "rabit_enable_tcp_no_delay",
                     "true");
}

static int member_join(struct xgboost_group *g, const struct meeting *m,
                       struct error *err)
{
    json_t *json = member_config(g, m);
    char *config = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = -1;

    if (!config)
        error_no_memory(err);
    else if (g->x->XGCommunicatorInit(config) != 0)
        xgboost_fail(g->x, RAYTRAIN_ECOMM, "the workers cannot connect for XGBoost",
                     err);
    else
        rc = 0;
    free(config);
    json_decref(json);
    g->joined = rc == 0;
    return rc;
}

int xgboost_group_join(const struct xgboost_library *x, struct comm *c,
                       const struct world *world, struct xgboost_group **out,
                       struct error *err)
{
    struct xgboost_group *g = calloc(1, sizeof *g);
    struct meeting m;
    int rc = comm_agree(c, g ? 0 : error_no_memory(err), err);

    *out = NULL;
    memset(&m, 0, sizeof m);
    if (rc == 0) {
        g->x = x;
        g->c = c;
        pipes_quiet(g);
        rc = meeting_make(g, world, &m, err);
    }
    if (rc == 0) {
        rc = member_join(g, &m, err);
        /* The tracker's reason is better than what a member sees. */
        if (rc < 0) {
            (void)rabit_tracker_stop(g->rabit, err);
            g->rabit = NULL;
        }
        rc = comm_agree(c, rc, err);
    }
    if (rc == 0) {
        *out = g;
        return 0;
    }
    xgboost_group_leave(g, false);
    return -1;
}

void xgboost_group_break(struct xgboost_group *g)
{
    if (g && g->joined)
        (void)g->x->XGCommunicatorFinalize();
    if (g)
        g->joined = false;
}

static void *group_tracker_free(void *arg)
{
    struct xgboost_group *copy = arg;

    (void)copy->x->XGTrackerFree(copy->tracker);
    free(copy);
    return NULL;
}

/* The library's tracker ends at once if all members have left. Otherwise it may wait
 * for a connection to send something, so another thread waits for its end. */
static void tracker_stop(struct xgboost_group *g, bool clean)
{
    struct xgboost_group *copy;
    struct error ignored;
    pthread_t thread;

    if (clean) {
        (void)g->x->XGTrackerFree(g->tracker);
        return;
    }
    copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *g;
    if (thread_start(&thread, group_tracker_free, copy, &ignored) == 0)
        pthread_detach(thread);
    else
        free(copy);
}

void xgboost_group_leave(struct xgboost_group *g, bool clean)
{
    struct error ignored;

    if (!g)
        return;
    xgboost_group_break(g);
    /* The trackers answer each member's farewell. */
    if (clean)
        (void)g->c->ops->barrier(g->c, &ignored);
    (void)rabit_tracker_stop(g->rabit, &ignored);
    if (g->tracker)
        tracker_stop(g, clean);
    if (g->c)
        pipes_loud(g);
    free(g);
}
