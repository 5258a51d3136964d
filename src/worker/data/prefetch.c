/*
 * prefetch.c - the thread that reads ahead. dataset.c decides what it reads;
 * batch_source.c reads.
 */
#include "data/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/thread.h"

/* The job and its outcome belong to the thread from `wanted` to `done`, and to the
 * caller otherwise. Two semaphores and nothing else: if a worker has one core, each job
 * costs two thread switches, the minimum. */
struct prefetch {
    struct batch_source *source;
    const struct frame *schema;
    const struct transform *transform; /* NULL: none */
    int (*after)(void *arg, const struct frame *batch, struct error *err);
    void *after_arg;
    pthread_t thread;
    sem_t wanted, done;
    bool pending, quit; /* the caller's, and the next */
    double waited_s;
    struct batch_job job;
    struct frame *batch;
    int rc;
    struct error err;
};

static void semaphore_await(sem_t *s)
{
    while (sem_wait(s) < 0 && errno == EINTR)
        continue;
}

static int job_do(struct prefetch *p)
{
    if (frame_restore(p->batch, p->schema, &p->err) < 0 ||
        batch_source_read(p->source, &p->job, p->batch, &p->err) < 0)
        return -1;
    if (p->transform && transform_apply(p->transform, p->batch, &p->err) < 0)
        return -1;
    return p->after ? p->after(p->after_arg, p->batch, &p->err) : 0;
}

static void *prefetch_run(void *arg)
{
    struct prefetch *p = arg;

    for (;;) {
        semaphore_await(&p->wanted);
        if (p->quit)
            return NULL;
        p->rc = job_do(p);
        sem_post(&p->done);
    }
}

static void prefetch_free(struct prefetch *p)
{
    sem_destroy(&p->wanted);
    sem_destroy(&p->done);
    free(p);
}

int prefetch_create(struct batch_source *source, const struct frame *schema,
                    const struct transform *transform, struct prefetch **out,
                    struct error *err)
{
    struct prefetch *p = calloc(1, sizeof *p);

    if (!p)
        return error_no_memory(err);
    p->source = source;
    p->schema = schema;
    p->transform = transform;
    sem_init(&p->wanted, 0, 0);
    sem_init(&p->done, 0, 0);
    if (thread_start(&p->thread, prefetch_run, p, err) < 0) {
        prefetch_free(p);
        return -1;
    }
    *out = p;
    return 0;
}

void prefetch_set_after(struct prefetch *p,
                        int (*after)(void *arg, const struct frame *batch,
                                     struct error *err),
                        void *arg)
{
    p->after = after;
    p->after_arg = arg;
}

void prefetch_start(struct prefetch *p, const struct batch_job *job,
                    struct frame *batch)
{
    p->job = *job;
    p->batch = batch;
    p->pending = true;
    sem_post(&p->wanted);
}

int prefetch_wait(struct prefetch *p, struct error *err)
{
    if (!p->pending)
        return 0;
    if (sem_trywait(&p->done) < 0) {
        double start = clock_now();

        semaphore_await(&p->done);
        p->waited_s += clock_now() - start;
    }
    p->pending = false;
    if (p->rc < 0 && err)
        *err = p->err;
    return p->rc;
}

double prefetch_waited_s(const struct prefetch *p)
{
    return p->waited_s;
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
