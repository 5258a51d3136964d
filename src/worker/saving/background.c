/* background.c - a queue of jobs, and the thread that runs them. */
#include "config.h"
#include "saving/background.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/thread.h"

#define JOBS_AT_FIRST 8

struct job {
    void (*run)(void *arg, int64_t iteration);
    void *arg;
    int64_t iteration;
};

struct background {
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct job *queue; /* the first one is running */
    size_t n, room;
    bool quit;
};

static void *background_main(void *arg)
{
    struct background *b = arg;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        struct job job;

        while (b->n == 0 && !b->quit)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->n == 0)
            break;
        job = b->queue[0];
        pthread_mutex_unlock(&b->lock);
        job.run(job.arg, job.iteration);
        pthread_mutex_lock(&b->lock);
        b->n--;
        memmove(b->queue, b->queue + 1, b->n * sizeof *b->queue);
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void background_free(struct background *b)
{
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b->queue);
    free(b);
}

static void clock_init(pthread_cond_t *changed)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int background_create(struct background **out, struct error *err)
{
    struct background *b = calloc(1, sizeof *b);

    if (!b)
        return error_no_memory(err);
    clock_init(&b->changed);
    pthread_mutex_init(&b->lock, NULL);
    b->room = JOBS_AT_FIRST;
    b->queue = calloc(b->room, sizeof *b->queue);
    if (!b->queue) {
        background_free(b);
        return error_no_memory(err);
    }
    if (thread_start(&b->thread, background_main, b, err) < 0) {
        background_free(b);
        return -1;
    }
    *out = b;
    return 0;
}

/* The caller holds the lock. */
static int queue_grow(struct background *b, struct error *err)
{
    struct job *queue;

    if (b->n < b->room)
        return 0;
    queue = reallocarray(b->queue, b->room, 2 * sizeof *queue);
    if (!queue)
        return error_no_memory(err);
    b->queue = queue;
    b->room *= 2;
    return 0;
}

int background_add(struct background *b, void (*run)(void *arg, int64_t iteration),
                   void *arg, int64_t iteration, struct error *err)
{
    int rc;

    pthread_mutex_lock(&b->lock);
    rc = queue_grow(b, err);
    if (rc == 0)
        b->queue[b->n++] = (struct job){run, arg, iteration};
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return rc;
}

bool background_wait(struct background *b, size_t n_left, double seconds)
{
    struct timespec until;
    bool reached;
    double whole;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    seconds = modf(seconds + (double)until.tv_nsec / 1e9, &whole);
    until.tv_sec += (time_t)whole;
    until.tv_nsec = (long)(seconds * 1e9);
    pthread_mutex_lock(&b->lock);
    while (b->n > n_left && rc == 0)
        rc = pthread_cond_timedwait(&b->changed, &b->lock, &until);
    reached = b->n <= n_left;
    pthread_mutex_unlock(&b->lock);
    return reached;
}

void background_destroy(struct background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->quit = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    background_free(b);
}
