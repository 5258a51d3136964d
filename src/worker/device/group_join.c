/*
 * group_join.c - the library's communicator is made and tried by all ranks, in a bounded time.
 *
 * The library has no limit for either: if a rank fails or does not come, the others wait. So a
 * thread does both, with a communicator that does not block, where the library has such
 * (NCCL 2.14). Meanwhile the ranks exchange how far they are. If one has failed, or time is
 * up, each rank aborts its communicator. Ranks that take no part in the exchange are absent.
 *
 * The trial is a sum over all ranks, since many a fault shows in the first collective only:
 * connections are made then.
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

#define ROUND_S   0.5 /* between two exchanges, for a rank that has no news */
#define SILENCE_S 3.0 /* after the limit: then a rank that says nothing is absent */
#define LEAVE_S   5   /* that a thread may take to give up */

enum progress { JOIN_FAILED = -1, JOIN_GOES_ON, JOIN_READY };

struct join {
    struct join *next; /* of those that are left */
    struct device_group *g;
    struct nccl_id id;
    struct comm quiet;   /* whose waits call nobody: of the thread */
    atomic_int progress; /* an enum progress */
    struct error err;    /* once it has failed */
    bool has_thread;
    pthread_t thread;

    /* Of the thread of the training function: */
    double begun, told; /* told: the latest exchange; clock_now() */
    bool late;          /* time is up */
    int64_t lowest;     /* in an exchange */
    struct comm_request *request;
};

/* What a stuck thread uses, and a communicator with an exchange that never ends. */
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
    /* One that blocks has freed it. */
    if (may_abort && g->handle)
        nccl->ncclCommAbort(g->handle);
    g->handle = NULL;
    return -1;
}

/* Host memory, [0] to send and [1] to receive; memory of the card. */
struct trial {
    int64_t *host;
    void *card;
};

static int trial_begin(struct device_group *g, struct trial *t, struct error *err)
{
    const struct device_vendor *v = g->card->vendor;
    void *host = NULL;
    int rc;

    if (card_resume(g->card, err) < 0)
        return -1;
    rc = v->pinned_alloc(2 * sizeof *t->host, &host, err);
    t->host = host;
    if (rc == 0)
        rc = v->memory_alloc(sizeof *t->host, &t->card, err);
    if (rc == 0) {
        t->host[0] = g->comm->rank + 1;
        rc = v->copy_in(t->card, &t->host[0], sizeof *t->host, g->stream, err);
    }
    v->leave();
    return rc;
}

static int trial_fetch(struct device_group *g, const struct trial *t, struct error *err)
{
    const struct device_vendor *v = g->card->vendor;
    int rc;

    if (card_resume(g->card, err) < 0)
        return -1;
    rc = v->copy_out(&t->host[1], t->card, sizeof *t->host, g->stream, err);
    v->leave();
    return rc;
}

static void trial_end(struct device_group *g, const struct trial *t)
{
    const struct device_vendor *v = g->card->vendor;

    if (card_resume(g->card, NULL) < 0)
        return;
    if (t->card)
        v->memory_free(t->card); /* waits for what is queued */
    if (t->host)
        v->pinned_free(t->host);
    v->leave();
}

static int trial_check(const struct device_group *g, const struct trial *t,
                       struct error *err)
{
    int64_t n = g->comm->size, sum = n * (n + 1) / 2;

    if (t->host[1] == sum)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM,
                     "ncclAllReduce of %s gave %lld instead of %lld on the GPU of rank "
                     "%d: GPUs cannot copy from each other, maybe; try "
                     "NCCL_P2P_DISABLE=1",
                     g->nccl->file, (long long)t->host[1], (long long)sum,
                     g->comm->rank);
}

static int trial_run(struct device_group *g, struct error *err)
{
    struct trial t = {NULL, NULL};
    int rc = trial_begin(g, &t, err);
    const struct device_span span = {t.card, 1};

    if (rc == 0)
        rc = device_group_allreduce(g, &span, 1, RAYTRAIN_INT64, RAYTRAIN_SUM, err);
    if (rc == 0)
        rc = trial_fetch(g, &t, err);
    if (rc == 0)
        rc = device_group_wait(g, err);
    if (rc == 0)
        rc = trial_check(g, &t, err);
    /* Up to NCCL 2.18, what goes on is joined by the next call of the same thread. */
    if (rc == 0)
        rc = device_group_allreduce(g, NULL, 0, RAYTRAIN_INT64, RAYTRAIN_SUM, err);
    if (rc < 0)
        device_group_abort(g);
    trial_end(g, &t);
    return rc;
}

static int join_alone(struct join *j)
{
    int rc;

    if (card_resume(j->g->card, &j->err) < 0)
        return -1;
    rc = handle_make(j);
    j->g->card->vendor->leave();
    return rc < 0 ? -1 : trial_run(j->g, &j->err);
}

static void *join_thread(void *arg)
{
    struct join *j = arg;
    int rc = join_alone(j);

    atomic_store(&j->progress, rc == 0 ? JOIN_READY : JOIN_FAILED);
    return NULL;
}

/* ---- The exchange ---- */

static void absent_list(const struct device_group_env *env, char list[RANK_LIST_MAX])
{
    list[0] = '\0';
    if (env->absent)
        env->absent(env->absent_arg, list);
}

/* How far is this rank, as it tells the others? */
static enum progress join_state(struct join *j, const struct device_group_env *env,
                                double now)
{
    enum progress mine = (enum progress)atomic_load(&j->progress);
    char list[RANK_LIST_MAX];

    if (env->limit_s <= 0 || now - j->begun < env->limit_s)
        return mine;
    if (!j->late)
        absent_list(env, list); /* lets others know that this one is not */
    j->late = true;
    return mine == JOIN_GOES_ON ? JOIN_FAILED : mine;
}

/* Start an exchange, or look at it. *over: it is over, and j->lowest is the same on all
 * ranks. */
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
        j->told = now;
        return 0;
    }
    if (mine == JOIN_GOES_ON && now - j->told < ROUND_S)
        return 0;
    j->lowest = mine;
    return comm->ops->iallreduce(comm, COMM_HOST, &j->lowest, 1, COMM_INT64, COMM_MIN,
                                 &j->request, err);
}

/* COLLECTIVE: a rank has failed. */
static int failure_agree(struct join *j, const struct device_group_env *env,
                         struct error *err)
{
    int rc = 0;

    if (atomic_load(&j->progress) == JOIN_FAILED)
        rc = error_set(err, j->err.code, "%s", j->err.text);
    else if (j->late && atomic_load(&j->progress) == JOIN_GOES_ON)
        rc = error_set(err, RAYTRAIN_ECOMM,
                       "%s has not connected the GPUs of the ranks within %.0f s "
                       "(start_timeout_s), though all ranks called it: "
                       "NCCL_SOCKET_IFNAME names the network between nodes",
                       j->g->nccl->file, env->limit_s);
    return comm_agree(env->comm, rc, err);
}

static int absent_fail(const struct device_group_env *env, struct error *err)
{
    char list[RANK_LIST_MAX];

    absent_list(env, list);
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
        if (j->late && clock_now() - j->begun > env->limit_s + SILENCE_S)
            return absent_fail(env, err);
        group_nap(&nap, env->comm);
    }
}

/* The thread gives up what it does, unless it is done. False: it is inside of the library,
 * and stays there. */
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
    j->begun = j->told = clock_now();
    g->comm = &j->quiet;
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
        if (*rc < 0)
            device_group_abort(g);
    }
    if (!ended || j->request) {
        j->next = left;
        left = j;
        return ended;
    }
    free(j);
    return true;
}
