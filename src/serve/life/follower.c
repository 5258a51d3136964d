/* follower.c - the thread that looks for newer checkpoints, and how it passes them to
 * the main loop. */
#include "life/follower.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "util/thread.h"

#define EVERY_S 1
#define END_S   2 /* for the thread */

struct follower {
    int (*choose)(void *arg, char **checkpoint, struct error *err);
    void *arg;
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ends;
    bool ending;
    char *now;    /* the last one that was found */
    char *latest; /* one that has not been taken; NULL: none */
};

/* Called with the lock. Takes ownership of `checkpoint`. */
static void checkpoint_see(struct follower *f, char *checkpoint)
{
    char *copy = strdup(checkpoint);

    if (!copy || strcmp(checkpoint, f->now) == 0) {
        free(copy);
        free(checkpoint);
        return;
    }
    free(f->now);
    f->now = copy;
    free(f->latest);
    f->latest = checkpoint;
    eventfd_write(f->fd, 1);
}

/* Called with the lock. False: the thread must end. */
static bool pause_for(struct follower *f, time_t seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (!f->ending &&
           pthread_cond_timedwait(&f->ends, &f->lock, &until) != ETIMEDOUT)
        ;
    return !f->ending;
}

/* If there is no checkpoint, or an unreadable one, look again later. */
static void *follow(void *arg)
{
    struct follower *f = arg;
    struct error err;
    char *checkpoint;

    pthread_mutex_lock(&f->lock);
    while (pause_for(f, EVERY_S)) {
        int rc;

        pthread_mutex_unlock(&f->lock);
        rc = f->choose(f->arg, &checkpoint, &err);
        pthread_mutex_lock(&f->lock);
        if (rc == 0)
            checkpoint_see(f, checkpoint);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static void locks_make(struct follower *f)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->ends, &attr);
    pthread_condattr_destroy(&attr);
}

static void follower_free(struct follower *f)
{
    pthread_cond_destroy(&f->ends);
    pthread_mutex_destroy(&f->lock);
    free(f->now);
    free(f->latest);
    free(f);
}

int follower_start(const char *now,
                   int (*choose)(void *arg, char **checkpoint, struct error *err),
                   void *arg, int fd, struct follower **out, struct error *err)
{
    struct follower *f = calloc(1, sizeof *f);

    if (!f || !(f->now = strdup(now))) {
        free(f);
        return error_no_memory(err);
    }
    f->choose = choose;
    f->arg = arg;
    f->fd = fd;
    locks_make(f);
    if (thread_start(&f->thread, follow, f, err) < 0) {
        follower_free(f);
        return -1;
    }
    *out = f;
    return 0;
}

char *follower_take(struct follower *f)
{
    char *latest;

    pthread_mutex_lock(&f->lock);
    latest = f->latest;
    f->latest = NULL;
    pthread_mutex_unlock(&f->lock);
    return latest;
}

void follower_stop(struct follower *f)
{
    struct timespec until;

    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->ending = true;
    pthread_cond_signal(&f->ends);
    pthread_mutex_unlock(&f->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    if (pthread_timedjoin_np(f->thread, NULL, &until) == 0)
        follower_free(f);
}
