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

#include "protocol/log_dir.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/thread.h"

struct heartbeat {
    char *path;
    char *run_dir;
    int attempt;
    double every_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* on CLOCK_MONOTONIC */
    bool stop;           /* under the lock */
};

/* The file has its final size when it gets its name: no node ever sees a shorter one.
 * After that it is opened and closed for each beat: the close makes a network file
 * system send what was written. A beat that cannot be written is lost. */
static void beat(const struct heartbeat *hb, unsigned long count)
{
    char line[HEARTBEAT_BYTES + 1];
    int fd, n;

    n = snprintf(line, sizeof line, "%lu %.3f %ld", count, clock_unix_double(),
                 (long)getpid());
    memset(line + n, ' ', sizeof line - 1 - (size_t)n);
    line[HEARTBEAT_BYTES - 1] = '\n';
    fd = open(hb->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT)
            fs_replace(hb->path, line, HEARTBEAT_BYTES, 0666, NULL);
        return;
    }
    fs_pwrite_full(fd, line, HEARTBEAT_BYTES, 0);
    close(fd);
}

/* Wait until the next beat is due; true: stop. */
static bool rest(struct heartbeat *hb)
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

/* The launcher starts the next attempt when this one is over. This lists the directory
 * rather than looking up the name: network storage would cache that the name does not
 * exist, also for the next attempt's workers on this node. */
static bool is_given_up(const struct heartbeat *hb)
{
    return run_dir_last_attempt(hb->run_dir) > hb->attempt;
}

/* When this rank has last taken part in a report, in ms; 0: not yet. */
static _Atomic int64_t reported_ms;

void heartbeat_reported(void)
{
    reported_ms = (int64_t)(clock_now() * 1e3);
}

/* Reports of all ranks stand for heartbeats. */
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
        beat(hb, count++);
        if (is_given_up(hb))
            kill(getpid(), SIGKILL);
    } while (!rest(hb));
    return NULL;
}

static void heartbeat_free(struct heartbeat *hb)
{
    free(hb->path);
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

int heartbeat_start(const struct heartbeat_spec *spec, struct heartbeat **out,
                    struct error *err)
{
    char *dir = log_dir_heartbeats(spec->log_dir);
    struct heartbeat *hb;
    int rc = -1;

    *out = NULL;
    if (!dir)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (access(dir, F_OK) < 0) {
        free(dir);
        return 0;
    }
    hb = calloc(1, sizeof *hb);
    if (hb) {
        hb->every_s = spec->every_s;
        hb->path = run_dir_file(dir, spec->node);
        hb->run_dir = strdup(spec->run_dir);
        hb->attempt = spec->attempt;
    }
    if (!hb || !hb->path || !hb->run_dir)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    else
        rc = beats_start(hb, err);
    free(dir);
    if (rc == 0)
        *out = hb;
    else if (hb)
        heartbeat_free(hb);
    return rc;
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
