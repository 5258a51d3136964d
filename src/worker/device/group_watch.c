/*
 * group_watch.c - groups of GPUs that fail: asynchronous errors of the library, and
 * aborts.
 *
 * A thread looks for errors several times a second, while there are groups. So a kernel
 * that waits for another rank ends when the library has noticed that the rank, or the
 * connection to it, is gone, even if the training function waits for the kernel and
 * does not call raytrain. If a rank vanishes without an error, the launcher notices it,
 * and kills the others.
 */
#include "config.h"

#include "device/group_impl.h"

#include <stdatomic.h>
#include <time.h>

#include "util/clock.h"
#include "util/thread.h"

#define LOOK_NS    100000000L /* between looks */
#define NAP_NS     50000L
#define NAP_NS_MAX 1000000L
#define ABORT_S    1 /* how long the end of the process waits */

/* ---- One group ---- */

/* Abort a group that has failed, for the reason in g->failure. */
static void group_end_locked(struct device_group *g)
{
    const struct device_vendor *v = g->device->vendor;
    void *handle = g->handle;

    atomic_store(&g->failed, true);
    if (g->joining && !atomic_load(&g->given_up))
        return;
    g->handle = NULL;
    if (!handle || device_resume(g->device, NULL) < 0)
        return;
    g->nccl->ncclCommAbort(handle); /* whatever it returns, the handle is gone */
    v->leave();
}

void group_abort_locked(struct device_group *g)
{
    if (!atomic_load(&g->failed))
        error_set(&g->failure, RAYTRAIN_ECOMM,
                  "the collectives of GPUs were aborted on this rank");
    group_end_locked(g);
}

void group_fail_locked(struct device_group *g, int result, const char *function)
{
    g->result = result;
    nccl_fail(g->nccl, result, function, &g->failure);
    group_end_locked(g);
}

int group_check_locked(struct device_group *g, struct error *err)
{
    int error = NCCL_SUCCESS, rc;

    if (!atomic_load(&g->failed) && atomic_load(&g->given_up))
        group_abort_locked(g);
    if (!atomic_load(&g->failed)) {
        rc = g->nccl->ncclCommGetAsyncError(g->handle, &error);
        if (rc == NCCL_SUCCESS && (error == NCCL_SUCCESS || error == NCCL_IN_PROGRESS))
            return 0;
        if (rc == NCCL_SUCCESS)
            group_fail_locked(g, error, NULL);
        else
            group_fail_locked(g, rc, "ncclCommGetAsyncError");
    }
    return error_set(err, g->failure.code, "%s", g->failure.text);
}

void device_group_abort(struct device_group *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    group_abort_locked(g);
    pthread_mutex_unlock(&g->lock);
}

int device_group_check(struct device_group *g, struct error *err)
{
    int rc;

    pthread_mutex_lock(&g->lock);
    rc = group_check_locked(g, err);
    pthread_mutex_unlock(&g->lock);
    return rc;
}

void group_nap(struct group_nap *nap, struct comm *comm)
{
    double now = clock_now();

    if (nap->ns == 0) {
        nap->ns = NAP_NS;
        nap->since = nap->hooked = now;
    }
    nanosleep(&(struct timespec){.tv_nsec = nap->ns}, NULL);
    if (nap->ns < NAP_NS_MAX)
        nap->ns += nap->ns / 2;
    if (!comm->waiting || now - nap->hooked < 1)
        return;
    nap->hooked = now;
    comm->waiting(comm->waiting_arg, now - nap->since);
}

/* ---- All groups ---- */

/* The lock is taken before that of a group. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct device_group *first;
    atomic_int n;
    pthread_t thread;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Call `what` for each group for which no thread is in the library: such a thread sees
 * an error itself. */
static void each_free(void (*what)(struct device_group *g))
{
    for (struct device_group *g = watch.first; g; g = g->next)
        if (pthread_mutex_trylock(&g->lock) == 0) {
            what(g);
            pthread_mutex_unlock(&g->lock);
        }
}

static void errors_check(struct device_group *g)
{
    group_check_locked(g, NULL); /* the next call on the group reports it */
}

static void *watch_run(void *arg)
{
    struct timespec until;

    pthread_mutex_lock(&watch.lock);
    while (watch.first) {
        each_free(errors_check);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NS;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        pthread_cond_clockwait(&watch.changed, &watch.lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&watch.lock);
    return arg;
}

int group_watch(struct device_group *g, struct error *err)
{
    bool first;
    int rc = 0;

    pthread_mutex_lock(&watch.lock);
    first = !watch.first;
    g->next = watch.first;
    watch.first = g;
    if (first)
        rc = thread_start(&watch.thread, watch_run, NULL, err);
    if (rc < 0)
        watch.first = NULL;
    else
        atomic_fetch_add(&watch.n, 1);
    pthread_mutex_unlock(&watch.lock);
    return rc;
}

void group_unwatch(struct device_group *g)
{
    struct device_group **at = &watch.first;
    bool last = false;

    pthread_mutex_lock(&watch.lock);
    while (*at && *at != g)
        at = &(*at)->next;
    if (*at) {
        *at = g->next;
        last = atomic_fetch_sub(&watch.n, 1) == 1;
    }
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    if (last)
        pthread_join(watch.thread, NULL);
}

/* Does not wait for a thread that is in the library, perhaps for another rank. The flag
 * is enough, since a group fails before its kernels end. */
static int group_look(struct device_group *g, struct error *err)
{
    int rc = 0;

    if (pthread_mutex_trylock(&g->lock) == 0) {
        rc = group_check_locked(g, err);
        pthread_mutex_unlock(&g->lock);
    } else if (atomic_load(&g->failed)) {
        rc = error_set(err, g->failure.code, "%s", g->failure.text);
    }
    return rc;
}

int device_groups_check(struct error *err)
{
    int rc = 0;

    if (!atomic_load(&watch.n))
        return 0;
    pthread_mutex_lock(&watch.lock);
    for (struct device_group *g = watch.first; g && rc == 0; g = g->next)
        rc = group_look(g, err);
    pthread_mutex_unlock(&watch.lock);
    return rc;
}

static void abort_until(struct timespec *until)
{
    clock_gettime(CLOCK_MONOTONIC, until);
    until->tv_sec += ABORT_S;
}

/* A thread that waits in the library ends its wait, and aborts the group itself. */
static void *abort_run(void *arg)
{
    struct timespec until;

    abort_until(&until);
    pthread_mutex_lock(&watch.lock);
    for (struct device_group *g = watch.first; g; g = g->next)
        atomic_store(&g->given_up, true);
    each_free(group_abort_locked);
    for (struct device_group *g = watch.first; g; g = g->next)
        if (pthread_mutex_clocklock(&g->lock, CLOCK_MONOTONIC, &until) == 0) {
            group_abort_locked(g);
            pthread_mutex_unlock(&g->lock);
        }
    pthread_mutex_unlock(&watch.lock);
    return arg;
}

/* Uses a thread, so that the process ends even if a driver hangs. */
void device_groups_abort(void)
{
    struct timespec until;
    pthread_t thread;

    if (!atomic_load(&watch.n) || thread_start(&thread, abort_run, NULL, NULL) < 0)
        return;
    abort_until(&until);
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != 0)
        pthread_detach(thread);
}
