#include "config.h"
#include "util/background.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "util/thread.h"

struct background {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the job and quit */
    pthread_cond_t changed;
    void (*job)(void *arg); /* NULL: idle */
    void *arg;
    bool quit;
};

static void *background_main(void *self)
{
    struct background *b = self;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->job && !b->quit)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->quit)
            break;
        pthread_mutex_unlock(&b->lock);
        b->job(b->arg);
        pthread_mutex_lock(&b->lock);
        b->job = NULL;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

int background_create(struct background **out, struct error *err)
{
    struct background *b = calloc(1, sizeof *b);
    pthread_condattr_t monotonic;

    if (!b)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&b->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (thread_start(&b->thread, background_main, b, err) < 0) {
        pthread_cond_destroy(&b->changed);
        pthread_mutex_destroy(&b->lock);
        free(b);
        return -1;
    }
    *out = b;
    return 0;
}

void background_run(struct background *b, void (*job)(void *arg), void *arg)
{
    pthread_mutex_lock(&b->lock);
    b->job = job;
    b->arg = arg;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

bool background_is_idle(struct background *b)
{
    bool idle;

    pthread_mutex_lock(&b->lock);
    idle = !b->job;
    pthread_mutex_unlock(&b->lock);
    return idle;
}

bool background_wait(struct background *b, double seconds)
{
    struct timespec until;
    bool idle;
    double whole;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    seconds = modf(seconds + (double)until.tv_nsec / 1e9, &whole);
    until.tv_sec += (time_t)whole;
    until.tv_nsec = (long)(seconds * 1e9);
    pthread_mutex_lock(&b->lock);
    while (b->job && rc == 0)
        rc = pthread_cond_timedwait(&b->changed, &b->lock, &until);
    idle = !b->job;
    pthread_mutex_unlock(&b->lock);
    return idle;
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
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}
