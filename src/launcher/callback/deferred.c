/* deferred.c - the thread, its queue of items, and its owner's side. */
#include "callback/deferred.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "event/attention.h"
#include "util/clock.h"
#include "util/thread.h"

#define LISTEN_S 0.1 /* how often a wait checks for a request to stop */

struct deferred {
    const struct deferred_ops *ops;
    void *state; /* used by the thread only */
    double period_s;
    pthread_t thread;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    void **items; /* waiting; DEFERRED_MOST entries */
    size_t n;
    bool hurry;     /* do not wait for the end of the period */
    bool working;   /* the thread is outside the lock */
    bool closed;    /* the owner has left */
    bool abandoned; /* ... without waiting: the thread frees everything */
    bool failed, says;
    struct error what;
};

/* ---- the thread ---- */

/* Wait for a change, at most until `until` (0: no limit). */
static void wait_until(struct deferred *d, double until)
{
    struct timespec at = {.tv_sec = (time_t)until,
                          .tv_nsec = (long)(fmod(until, 1) * 1e9)};

    if (until > 0)
        pthread_cond_timedwait(&d->changed, &d->lock, &at);
    else
        pthread_cond_wait(&d->changed, &d->lock);
}

static void items_free(const struct deferred *d, void **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d->ops->item_free(items[i]);
}

/* Called without the lock. */
static int batch_work(struct deferred *d, void **batch, size_t n, bool last,
                      struct error *what)
{
    int rc = d->ops->work(d->state, batch, n, last, what);

    items_free(d, batch, n);
    return rc;
}

/* Swap: the posted items become `batch`. */
static void turn(struct deferred *d, void **batch)
{
    bool last = d->hurry;
    struct error what;
    size_t n = d->n;
    int rc;

    for (size_t i = 0; i < n; i++)
        batch[i] = d->items[i];
    d->n = 0;
    d->hurry = false;
    if (d->failed) {
        items_free(d, batch, n);
    } else {
        d->working = true;
        pthread_mutex_unlock(&d->lock);
        rc = batch_work(d, batch, n, last, &what);
        pthread_mutex_lock(&d->lock);
        d->working = false;
        if (rc != 0) {
            d->failed = rc < 0;
            d->says = true;
            d->what = what;
        }
    }
    pthread_cond_broadcast(&d->changed);
}

static void deferred_free(struct deferred *d)
{
    items_free(d, d->items, d->n);
    d->ops->state_free(d->state);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d->items);
    free(d);
}

static void *deferred_main(void *self)
{
    struct deferred *d = self;
    void **batch = d->items + DEFERRED_MOST; /* the second half */
    double due = 0;
    bool abandoned;

    pthread_mutex_lock(&d->lock);
    while (!d->closed) {
        if (d->n == 0 && !d->hurry) {
            wait_until(d, 0);
        } else if (!d->hurry && d->n < DEFERRED_MOST / 2 && clock_now() < due) {
            wait_until(d, due);
        } else {
            turn(d, batch);
            due = clock_now() + d->period_s;
        }
    }
    abandoned = d->abandoned;
    pthread_mutex_unlock(&d->lock);
    if (abandoned)
        deferred_free(d);
    return NULL;
}

/* ---- its owner ---- */

static struct deferred *deferred_new(const struct deferred_ops *ops, void *state,
                                     double period_s)
{
    struct deferred *d = calloc(1, sizeof *d);
    pthread_condattr_t monotonic;

    if (!d || !(d->items = calloc(2 * DEFERRED_MOST, sizeof *d->items))) {
        free(d);
        return NULL;
    }
    d->ops = ops;
    d->state = state;
    d->period_s = period_s;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return d;
}

int deferred_create(const struct deferred_ops *ops, void *state, double period_s,
                    struct deferred **out, struct error *err)
{
    struct deferred *d = deferred_new(ops, state, period_s);

    if (!d) {
        ops->state_free(state);
        return error_no_memory(err);
    }
    if (thread_start(&d->thread, deferred_main, d, err) < 0) {
        deferred_free(d);
        return -1;
    }
    *out = d;
    return 0;
}

bool deferred_post(struct deferred *d, void *item)
{
    bool taken = false, wake = false;

    if (!item)
        return false;
    pthread_mutex_lock(&d->lock);
    if (!d->failed && d->n < DEFERRED_MOST) {
        d->items[d->n++] = item;
        taken = true;
        wake = d->n == 1 || d->n == DEFERRED_MOST / 2;
    }
    if (wake)
        pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    if (!taken)
        d->ops->item_free(item);
    return taken;
}

bool deferred_says(struct deferred *d, struct error *what, bool *failed)
{
    bool says;

    pthread_mutex_lock(&d->lock);
    says = d->says;
    d->says = false;
    *failed = d->failed;
    if (says)
        *what = d->what;
    pthread_mutex_unlock(&d->lock);
    return says;
}

bool deferred_finish(struct deferred *d, double seconds)
{
    double until = clock_now() + seconds;
    bool done;

    pthread_mutex_lock(&d->lock);
    d->hurry = true;
    pthread_cond_broadcast(&d->changed);
    while ((d->n > 0 || d->hurry || d->working) && clock_now() < until &&
           !attention_is_called())
        wait_until(d, fmin(until, clock_now() + LISTEN_S));
    done = d->n == 0 && !d->hurry && !d->working;
    pthread_mutex_unlock(&d->lock);
    return done;
}

void deferred_destroy(struct deferred *d)
{
    bool abandoned;

    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->closed = true;
    abandoned = d->abandoned = d->working;
    if (abandoned)
        pthread_detach(d->thread);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    if (abandoned)
        return;
    pthread_join(d->thread, NULL);
    deferred_free(d);
}
