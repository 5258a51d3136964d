#include "data/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "util/thread.h"

/* The job and its outcome belong to the thread from `wanted` to `done`, and to the
 * caller otherwise. Two semaphores and nothing else: if a worker has one core, each job
 * costs two thread switches, the minimum. */
struct prefetch {
    const struct table *table;
    pthread_t thread;
    sem_t wanted, done;
    bool pending, quit; /* the caller's */
    struct prefetch_job job;
    int rc;
    struct error err;
};

static void semaphore_await(sem_t *s)
{
    while (sem_wait(s) < 0 && errno == EINTR)
        continue;
}

static void *prefetch_run(void *arg)
{
    struct prefetch *p = arg;

    for (;;) {
        semaphore_await(&p->wanted);
        if (p->quit)
            return NULL;
        p->rc = batch_read(p->job.batch, p->table, &p->job.order, p->job.first,
                           p->job.count, &p->err);
        sem_post(&p->done);
    }
}

static void prefetch_free(struct prefetch *p)
{
    sem_destroy(&p->wanted);
    sem_destroy(&p->done);
    free(p);
}

int prefetch_create(const struct table *t, struct prefetch **out, struct error *err)
{
    struct prefetch *p = calloc(1, sizeof *p);

    if (!p)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    p->table = t;
    sem_init(&p->wanted, 0, 0);
    sem_init(&p->done, 0, 0);
    if (thread_start(&p->thread, prefetch_run, p, err) < 0) {
        prefetch_free(p);
        return -1;
    }
    *out = p;
    return 0;
}

void prefetch_start(struct prefetch *p, const struct prefetch_job *job)
{
    p->job = *job;
    p->pending = true;
    sem_post(&p->wanted);
}

int prefetch_wait(struct prefetch *p, struct error *err)
{
    if (!p->pending)
        return 0;
    semaphore_await(&p->done);
    p->pending = false;
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
    p->quit = true;
    sem_post(&p->wanted);
    pthread_join(p->thread, NULL);
    prefetch_free(p);
    errno = saved;
}
