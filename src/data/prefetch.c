#include "data/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum prefetch_state { PREFETCH_IDLE, PREFETCH_PENDING, PREFETCH_DONE, PREFETCH_QUIT };

struct prefetch {
    const struct table *table;
    pthread_t thread;
    pthread_mutex_t lock; /* guards state; the rest belongs to whom state says */
    pthread_cond_t changed;
    enum prefetch_state state;
    struct prefetch_job job;
    int rc;
    struct error err;
};

static void state_set(struct prefetch *p, enum prefetch_state state)
{
    pthread_mutex_lock(&p->lock);
    p->state = state;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* Sleep while it is one of these two. */
static enum prefetch_state state_await(struct prefetch *p, enum prefetch_state a,
                                       enum prefetch_state b)
{
    enum prefetch_state state;

    pthread_mutex_lock(&p->lock);
    while (p->state == a || p->state == b)
        pthread_cond_wait(&p->changed, &p->lock);
    state = p->state;
    pthread_mutex_unlock(&p->lock);
    return state;
}

static void *prefetch_run(void *arg)
{
    struct prefetch *p = arg;

    while (state_await(p, PREFETCH_IDLE, PREFETCH_DONE) == PREFETCH_PENDING) {
        p->rc = batch_read(p->job.batch, p->table, &p->job.order, p->job.first,
                           p->job.count, &p->err);
        state_set(p, PREFETCH_DONE);
    }
    return NULL;
}

/* A signal is the main thread's: the new one inherits a mask that blocks them all. */
static int thread_start(struct prefetch *p)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&p->thread, NULL, prefetch_run, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int prefetch_create(const struct table *t, struct prefetch **out, struct error *err)
{
    struct prefetch *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    p->table = t;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    rc = thread_start(p);
    if (rc != 0) {
        free(p);
        return error_set(err, RAYTRAIN_ENOMEM, "cannot start a thread: %s",
                         strerror(rc));
    }
    *out = p;
    return 0;
}

void prefetch_start(struct prefetch *p, const struct prefetch_job *job)
{
    p->job = *job;
    state_set(p, PREFETCH_PENDING);
}

int prefetch_wait(struct prefetch *p, struct error *err)
{
    if (state_await(p, PREFETCH_PENDING, PREFETCH_PENDING) != PREFETCH_DONE)
        return 0;
    state_set(p, PREFETCH_IDLE);
    if (p->rc < 0 && err)
        *err = p->err;
    return p->rc;
}

void prefetch_destroy(struct prefetch *p)
{
    int saved = errno;

    if (!p)
        return;
    prefetch_wait(p, NULL);
    state_set(p, PREFETCH_QUIT);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
    errno = saved;
}
