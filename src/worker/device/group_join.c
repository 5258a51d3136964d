/*
 * group_join.c - all ranks make and try the library's communicator, in a bounded time.
 *
 * The library has no time limit for either: if a rank fails or is absent, the others
 * wait. So a thread does both, with a communicator that does not block if the library
 * has one (NCCL 2.14). Meanwhile the ranks exchange their states. If one has failed, or
 * the time is over, they agree on the reason, and then each rank aborts its
 * communicator: an abort makes the others fail. Ranks that do not take part in the
 * exchange are absent.
 *
 * The trial is a sum over all ranks, since many faults show only in the first
 * collective, when connections are made.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "device/group_impl.h"
#include "util/clock.h"
#include "util/thread.h"

#define ROUND_S   0.5 /* between two exchanges, if this rank's state is the same */
#define SILENCE_S 3.0 /* of asking, after the limit: then silent ranks are absent */
#define ASKING_S  0.1 /* between two looks, at most: a longer pause does not count */
#define LEAVE_S   5   /* that a thread may take to give up */

enum progress { JOIN_FAILED = -1, JOIN_GOES_ON, JOIN_READY };

struct join {
    struct join *next; /* in the list `left` */
    struct device_group *g;
    struct nccl_id id;
    struct comm quiet;   /* the thread's: its waits call no function */
    atomic_int progress; /* an enum progress */
    struct error err;    /* once it has failed */
    int result;          /* the library's result then, or NCCL_SUCCESS */
    bool has_thread;
    pthread_t thread;

    /* For the thread of the training function: */
    double begun;       /* clock_now() */
    double exchanged;   /* the latest exchange among the ranks; clock_now() */
    bool late;          /* the time is over, which this rank has announced */
    double asked;       /* the latest look since then; clock_now() */
    double asked_s;     /* how long it has looked since then */
    int64_t lowest;     /* in an exchange */
    struct comm_request *request;
};

/* Joins whose thread is stuck, or whose communicator has an exchange that never
 * ends. */
static struct join *left;

/* ---- The thread ---- */

static int handle_make(struct join *j)
{
    struct device_group *g = j->g;
    const struct nccl *nccl = g->nccl;
    struct nccl_config config = NCCL_NONBLOCKING;
    struct group_nap nap = {0};
    int error = NCCL_IN_PROGRESS, result, rc;
    bool may_abort = nccl->ncclCommInitRankConfig;

    result = may_abort ? nccl->ncclCommInitRankConfig(&g->handle, j->quiet.size, j->id,
                                                      j->quiet.rank, &config)
                       : nccl->ncclCommInitRank(&g->handle, j->quiet.size, j->id,
                                                j->quiet.rank);
    while (result == NCCL_IN_PROGRESS && !atomic_load(&g->given_up)) {
        group_nap(&nap, &j->quiet);
        rc = nccl->ncclCommGetAsyncError(g->handle, &error);
        result = rc != NCCL_SUCCESS ? rc : error;
    }
    if (result == NCCL_SUCCESS)
        return 0;
    nccl_fail(nccl, result, may_abort ? "ncclCommInitRankConfig" : "ncclCommInitRank",
              &j->err);
    j->result = result;
    if (!may_abort) /* a call that blocks has freed it */
        g->handle = NULL;
    return -1;
}

static int trial_begin(struct device_group *g, struct error *err)
{
    const struct device_vendor *v = g->device->vendor;
    void *host = NULL;
    int rc;

    if (device_resume(g->device, err) < 0)
        return -1;
    rc = v->pinned_alloc(2 * sizeof *g->trial.host, &host, err);
    g->trial.host = host;
    if (rc == 0)
        rc = v->memory_alloc(sizeof *g->trial.host, &g->trial.device, err);
    if (rc == 0) {
        g->trial.host[0] = g->comm->rank + 1;
        rc = v->copy_in(g->trial.device, &g->trial.host[0], sizeof *g->trial.host,
                        g->stream, err);
    }
    v->leave();
    return rc;
}

static int trial_fetch(struct device_group *g, struct error *err)
{
    const struct device_vendor *v = g->device->vendor;
    int rc;

    if (device_resume(g->device, err) < 0)
        return -1;
    rc = v->copy_out(&g->trial.host[1], g->trial.device, sizeof *g->trial.host,
                     g->stream, err);
    v->leave();
    return rc;
}

static int trial_check(const struct device_group *g, struct error *err)
{
    int64_t n = g->comm->size, sum = n * (n + 1) / 2;

    if (g->trial.host[1] == sum)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM,
                     "ncclAllReduce of %s gave %lld instead of %lld on the GPU of rank "
                     "%d: GPUs cannot copy from each other, maybe; try "
                     "NCCL_P2P_DISABLE=1",
                     g->nccl->file, (long long)g->trial.host[1], (long long)sum,
                     g->comm->rank);
}

static int trial_run(struct device_group *g, struct error *err)
{
    int rc = trial_begin(g, err);
    const struct device_span span = {g->trial.device, 1};

    if (rc == 0)
        rc = device_group_allreduce(g, &span, 1, RAYTRAIN_INT64, RAYTRAIN_SUM, err);
    if (rc == 0)
        rc = trial_fetch(g, err);
    if (rc == 0)
        rc = device_group_wait(g, err);
    if (rc == 0)
        rc = trial_check(g, err);
    /* Up to NCCL 2.18, work in progress is joined by the next call of the same
     * thread. */
    if (rc == 0)
        rc = device_group_allreduce(g, NULL, 0, RAYTRAIN_INT64, RAYTRAIN_SUM, err);
    return rc;
}

static int join_alone(struct join *j)
{
    int rc;

    if (device_resume(j->g->device, &j->err) < 0)
        return -1;
    rc = handle_make(j);
    j->g->device->vendor->leave();
    return rc < 0 ? -1 : trial_run(j->g, &j->err);
}

/* Up to NCCL 2.18, the thread that has begun it aborts it. */
static void *join_thread(void *arg)
{
    struct join *j = arg;
    struct group_nap nap = {0};
    int rc = join_alone(j);

    if (rc < 0 && j->g->result != NCCL_SUCCESS)
        j->result = j->g->result;
    atomic_store(&j->progress, rc == 0 ? JOIN_READY : JOIN_FAILED);
    while (rc < 0 && !atomic_load(&j->g->given_up))
        group_nap(&nap, &j->quiet);
    if (rc < 0)
        device_group_abort(j->g);
    return NULL;
}

/* ---- The exchange ---- */

/* The state of this rank that the others get. */
static enum progress join_state(struct join *j, const struct device_group_env *env,
                                double now)
{
    enum progress mine = (enum progress)atomic_load(&j->progress);

    if (env->limit_s <= 0 || now - j->begun < env->limit_s)
        return mine;
    if (!j->late && env->announce)
        env->announce(env->absent_arg);
    if (!j->late)
        j->asked = clock_now();
    j->late = true;
    return mine == JOIN_GOES_ON ? JOIN_FAILED : mine;
}

/* Has this rank asked long enough since the time was over? Other work meanwhile, for
 * example with slow storage, does not count. */
static bool is_silent(struct join *j)
{
    double now = clock_now(), took = now - j->asked;

    if (!j->late)
        return false;
    j->asked_s += took < ASKING_S ? took : ASKING_S;
    j->asked = now;
    return j->asked_s > SILENCE_S;
}

/* Start an exchange, or test it. *over: it is complete, and j->lowest is the same on
 * all ranks. */
static int ranks_tell(struct join *j, const struct device_group_env *env, bool *over,
                      struct error *err)
{
    struct comm *comm = env->comm;
    double now = clock_now();
    enum progress mine = join_state(j, env, now);

    *over = false;
    if (j->request) {
        if (comm->ops->test(comm, &j->request, over, err) < 0)
            return -1;
        j->exchanged = now;
        return 0;
    }
    if (mine == JOIN_GOES_ON && now - j->exchanged < ROUND_S)
        return 0;
    j->lowest = mine;
    return comm->ops->iallreduce(comm, COMM_HOST, &j->lowest, 1, COMM_INT64, COMM_MIN,
                                 &j->request, err);
}

/* How well this rank's state explains the failure; the highest over all ranks is
 * reported. */
enum reason { REASON_NONE, REASON_GOES_ON, REASON_OTHER_RANK, REASON_OWN };

static enum reason reason_of(struct join *j)
{
    enum progress mine = (enum progress)atomic_load(&j->progress);

    return mine == JOIN_READY               ? REASON_NONE
           : mine == JOIN_GOES_ON           ? REASON_GOES_ON
           : j->result == NCCL_REMOTE_ERROR ? REASON_OTHER_RANK
                                            : REASON_OWN;
}

static int reason_set(const struct join *j, const struct device_group_env *env,
                      enum reason reason, struct error *err)
{
    if (reason != REASON_GOES_ON)
        return error_set(err, j->err.code, "%s", j->err.text);
    return error_set(err, RAYTRAIN_ECOMM,
                     "%s has not connected the GPUs of the ranks within %.0f s "
                     "(start_timeout_s), though all ranks called it: set "
                     "NCCL_SOCKET_IFNAME to the network between the nodes",
                     j->g->nccl->file, env->limit_s);
}

/* COLLECTIVE: a rank has failed, or its time is over. 0: all became ready meanwhile. */
static int failure_agree(struct join *j, const struct device_group_env *env,
                         struct error *err)
{
    enum reason mine = reason_of(j);
    int64_t most = mine;
    int rc = 0;

    if (env->comm->ops->allreduce(env->comm, &most, 1, COMM_INT64, COMM_MAX, err) < 0)
        return -1;
    if (most != REASON_NONE && (int64_t)mine == most)
        rc = reason_set(j, env, mine, err);
    return comm_agree(env->comm, rc, err);
}

static int absent_fail(const struct device_group_env *env, struct error *err)
{
    char list[RANK_LIST_MAX] = "";

    if (env->absent)
        env->absent(env->absent_arg, list);
    if (env->lost)
        *env->lost = true;
    return error_set(err, RAYTRAIN_ECOMM,
                     "waited %.0f s (start_timeout_s) for %s to connect its GPU with "
                     "those of the others",
                     env->limit_s, list[0] ? list : "another rank");
}

static int ranks_wait(struct join *j, const struct device_group_env *env,
                      struct error *err)
{
    struct group_nap nap = {0};
    bool over;

    for (;;) {
        if (ranks_tell(j, env, &over, err) < 0)
            return -1;
        if (over && j->lowest != JOIN_GOES_ON)
            return j->lowest == JOIN_READY ? 0 : failure_agree(j, env, err);
        if (is_silent(j))
            return absent_fail(env, err);
        group_nap(&nap, env->comm);
    }
}

/* Make the thread give up, unless it is done. False: it stays in the library. */
static bool thread_end(struct join *j)
{
    struct timespec until;

    if (!j->has_thread)
        return true;
    atomic_store(&j->g->given_up, true);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LEAVE_S;
    if (pthread_clockjoin_np(j->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
        return true;
    pthread_detach(j->thread);
    return false;
}

struct join *group_join_new(struct device_group *g, struct error *err)
{
    struct join *j = calloc(1, sizeof *j);

    if (!j) {
        error_no_memory(err);
        return NULL;
    }
    j->g = g;
    j->quiet = (struct comm){.rank = g->comm->rank, .size = g->comm->size};
    return j;
}

void group_join_free(struct join *j)
{
    free(j);
}

bool group_join(struct join *j, const struct device_group_env *env,
                const struct nccl_id *id, int *rc, struct error *err)
{
    struct device_group *g = j->g;
    bool ended = true;

    j->id = *id;
    j->begun = j->exchanged = clock_now();
    g->comm = &j->quiet;
    g->joining = true;
    j->has_thread = thread_start(&j->thread, join_thread, j, &j->err) == 0;
    if (!j->has_thread)
        atomic_store(&j->progress, JOIN_FAILED);
    *rc = ranks_wait(j, env, err);
    if (*rc == 0)
        pthread_join(j->thread, NULL);
    else
        ended = thread_end(j);
    if (ended) {
        g->comm = env->comm;
        g->joining = false;
        if (*rc < 0)
            device_group_abort(g);
    }
    if (!ended)
        g->device->kept = true;
    if (!ended || j->request) {
        j->next = left;
        left = j;
        return ended;
    }
    free(j);
    return true;
}
