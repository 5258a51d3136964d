#include "config.h"
#include "saving/flush_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/thread.h"

struct mover {
    void (*move)(void *arg, int64_t iteration);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t *queue; /* the first one is being moved */
    size_t n, room;
    bool end;
};

static void *mover_main(void *arg)
{
    struct mover *m = arg;

    pthread_mutex_lock(&m->lock);
    for (;;) {
        int64_t iteration;

        while (m->n == 0 && !m->end)
            pthread_cond_wait(&m->changed, &m->lock);
        if (m->n == 0)
            break;
        iteration = m->queue[0];
        pthread_mutex_unlock(&m->lock);
        m->move(m->arg, iteration);
        pthread_mutex_lock(&m->lock);
        m->n--;
        memmove(m->queue, m->queue + 1, m->n * sizeof *m->queue);
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static void mover_free(struct mover *m)
{
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->changed);
    free(m->queue);
    free(m);
}

int mover_create(void (*move)(void *arg, int64_t iteration), void *arg,
                 struct mover **out, struct error *err)
{
    struct mover *m = calloc(1, sizeof *m);
    pthread_condattr_t attr;

    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    m->move = move;
    m->arg = arg;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&m->lock, NULL);
    if (thread_start(&m->thread, mover_main, m, err) < 0) {
        mover_free(m);
        return -1;
    }
    *out = m;
    return 0;
}

int mover_add(struct mover *m, int64_t iteration, struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&m->lock);
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 8;
        int64_t *queue = realloc(m->queue, room * sizeof *queue);

        if (queue) {
            m->queue = queue;
            m->room = room;
        } else {
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        }
    }
    if (rc == 0)
        m->queue[m->n++] = iteration;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return rc;
}

bool mover_wait(struct mover *m, size_t left, double seconds)
{
    struct timespec until;
    bool reached;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&m->lock);
    while (m->n > left && rc == 0)
        rc = pthread_cond_timedwait(&m->changed, &m->lock, &until);
    reached = m->n <= left;
    pthread_mutex_unlock(&m->lock);
    return reached;
}

void mover_destroy(struct mover *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->end = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    mover_free(m);
}
