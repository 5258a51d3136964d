/*
 * heartbeat.c - the thread that writes heartbeats, and kills a worker that was given
 * up.
 */
#include "config.h"

#include "rank/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "protocol/heartbeats.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/thread.h"

/* All nodes together look for the next attempt this often, and each node at least once
 * in LOOK_MAX_S. */
#define LOOKS_PER_S 8.0
#define LOOK_MAX_S  600.0

struct heartbeat {
    char *path;
    int fd; /* for the file: open while writing to it succeeds, else -1 */
    char *node;
    size_t place;
    unsigned look_every; /* beats, so that the nodes together do not look too often */
    char *run_dir;
    int attempt;
    double every_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* on CLOCK_MONOTONIC */
    bool stop;           /* under the lock */
};

/* The file stays open: opening it for each beat would cost shared storage far more than
 * the write. A beat that cannot be written is lost. */
static void beat(struct heartbeat *hb, unsigned long count)
{
    if (hb->fd < 0)
        hb->fd = open(hb->path, FS_WRITE);
    if (hb->fd < 0 || heartbeats_write(hb->fd, hb->place, count, hb->node) == 0)
        return;
    close(hb->fd);
    hb->fd = -1;
}

/* Wait until the next beat is due; true: stop. */
static bool beat_wait(struct heartbeat *hb)
{
    struct timespec until;
    bool stop;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)hb->every_s;
    until.tv_nsec += (long)((hb->every_s - (double)(time_t)hb->every_s) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&hb->lock);
    while (!hb->stop &&
           pthread_cond_timedwait(&hb->wake, &hb->lock, &until) != ETIMEDOUT)
        ;
    stop = hb->stop;
    pthread_mutex_unlock(&hb->lock);
    return stop;
}

/* Has the launcher started the next attempt? This lists the directory rather than
 * looking up the name: network storage would cache that the name does not exist, also
 * for the next attempt's workers on this node. The nodes take turns. */
static bool is_given_up(const struct heartbeat *hb, unsigned long count)
{
    return (count + hb->place) % hb->look_every == 0 &&
           run_dir_last_attempt(hb->run_dir) > hb->attempt;
}

unsigned heartbeat_look_every(int n_nodes, double every_s)
{
    double turns = (double)n_nodes / (LOOKS_PER_S * every_s);

    if (turns * every_s > LOOK_MAX_S)
        turns = LOOK_MAX_S / every_s;
    return turns > 1 ? (unsigned)turns : 1;
}

/* The time of the last report in which this rank took part, in ms; 0: none. */
static _Atomic int64_t reported_ms;

void heartbeat_reported(void)
{
    reported_ms = (int64_t)(clock_now() * 1e3);
}

/* All ranks take part in reports, so these replace heartbeats. */
static bool is_reporting(const struct heartbeat *hb)
{
    double since = clock_now() - (double)reported_ms / 1e3;

    return reported_ms > 0 && since < hb->every_s;
}

static void *beat_on(void *arg)
{
    struct heartbeat *hb = arg;
    unsigned long count = 0;

    do {
        if (count > 0 && is_reporting(hb))
            continue;
        beat(hb, count);
        if (is_given_up(hb, count++))
            kill(getpid(), SIGKILL);
    } while (!beat_wait(hb));
    return NULL;
}

static void heartbeat_free(struct heartbeat *hb)
{
    if (hb->fd >= 0)
        close(hb->fd);
    free(hb->path);
    free(hb->node);
    free(hb->run_dir);
    free(hb);
}

static int beats_start(struct heartbeat *hb, struct error *err)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&hb->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&hb->lock, NULL);
    if (thread_start(&hb->thread, beat_on, hb, err) == 0) {
        pthread_setname_np(hb->thread, "heartbeat");
        return 0;
    }
    pthread_cond_destroy(&hb->wake);
    pthread_mutex_destroy(&hb->lock);
    return -1;
}

static struct heartbeat *heartbeat_make(const struct heartbeat_spec *spec)
{
    struct heartbeat *hb = malloc(sizeof *hb);

    if (!hb)
        return NULL;
    *hb = (struct heartbeat){
        .path = run_dir_file(spec->log_dir, HEARTBEATS_FILE),
        .fd = -1,
        .node = strdup(spec->node),
        .place = (size_t)spec->place,
        .look_every = heartbeat_look_every(spec->n_nodes, spec->every_s),
        .run_dir = strdup(spec->run_dir),
        .attempt = spec->attempt,
        .every_s = spec->every_s,
    };
    if (hb->path && hb->node && hb->run_dir)
        return hb;
    heartbeat_free(hb);
    return NULL;
}

int heartbeat_start(const struct heartbeat_spec *spec, struct heartbeat **out,
                    struct error *err)
{
    struct heartbeat *hb = heartbeat_make(spec);

    *out = NULL;
    if (!hb)
        return error_no_memory(err);
    if (access(hb->path, F_OK) < 0) {
        heartbeat_free(hb);
        return 0;
    }
    if (beats_start(hb, err) < 0) {
        heartbeat_free(hb);
        return -1;
    }
    *out = hb;
    return 0;
}

void heartbeat_stop(struct heartbeat *hb)
{
    if (!hb)
        return;
    pthread_mutex_lock(&hb->lock);
    hb->stop = true;
    pthread_cond_signal(&hb->wake);
    pthread_mutex_unlock(&hb->lock);
    pthread_join(hb->thread, NULL);
    pthread_cond_destroy(&hb->wake);
    pthread_mutex_destroy(&hb->lock);
    heartbeat_free(hb);
}
