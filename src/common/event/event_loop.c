/*
 * event_loop.c - poll(2) over a growing array. An entry that is removed while handlers
 * run keeps its place, without a descriptor, until all have run, so that no handler is
 * skipped, called twice, or called after its removal.
 */
#include "event/event_loop.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct source {
    event_handler *handler;
    void *arg;
    bool timer; /* a timer: its descriptor is ours to read and to close */
};

struct event_loop {
    struct pollfd *fds; /* parallel to the sources; fd -1: removed */
    struct source *sources;
    size_t n, room;
};

int event_loop_create(struct event_loop **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : error_no_memory(err);
}

void event_loop_destroy(struct event_loop *loop)
{
    if (!loop)
        return;
    for (size_t i = 0; i < loop->n; i++)
        if (loop->sources[i].timer && loop->fds[i].fd >= 0)
            close(loop->fds[i].fd);
    free(loop->fds);
    free(loop->sources);
    free(loop);
}

/* ---- Sources ---- */

static int sources_grow(struct event_loop *loop, struct error *err)
{
    size_t room = 2 * loop->room + 8;
    struct pollfd *fds;
    struct source *sources;

    if (loop->n < loop->room)
        return 0;
    fds = realloc(loop->fds, room * sizeof *fds);
    if (fds)
        loop->fds = fds;
    sources = realloc(loop->sources, room * sizeof *sources);
    if (sources)
        loop->sources = sources;
    if (!fds || !sources)
        return error_no_memory(err);
    loop->room = room;
    return 0;
}

int event_loop_add(struct event_loop *loop, int fd, event_handler *handler, void *arg,
                   struct error *err)
{
    if (sources_grow(loop, err) < 0)
        return -1;
    loop->fds[loop->n] = (struct pollfd){.fd = fd, .events = POLLIN};
    loop->sources[loop->n] = (struct source){.handler = handler, .arg = arg};
    loop->n++;
    return 0;
}

void event_loop_remove(struct event_loop *loop, int fd)
{
    for (size_t i = 0; i < loop->n; i++) {
        if (fd < 0 || loop->fds[i].fd != fd)
            continue;
        if (loop->sources[i].timer)
            close(fd);
        loop->fds[i] = (struct pollfd){.fd = -1};
    }
}

static struct timespec timespec_of(double seconds)
{
    double whole = floor(seconds);

    return (struct timespec){.tv_sec = (time_t)whole,
                             .tv_nsec = (long)((seconds - whole) * 1e9)};
}

int event_loop_every(struct event_loop *loop, double seconds, event_handler *handler,
                     void *arg, int *timer, struct error *err)
{
    const struct itimerspec every = {.it_interval = timespec_of(seconds),
                                     .it_value = timespec_of(seconds)};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0 || timerfd_settime(fd, 0, &every, NULL) < 0) {
        error_set(err, RAYTRAIN_EFAILED, "timerfd: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (event_loop_add(loop, fd, handler, arg, err) < 0) {
        close(fd);
        return -1;
    }
    loop->sources[loop->n - 1].timer = true;
    *timer = fd;
    return 0;
}

/* ---- A turn ---- */

static void removed_drop(struct event_loop *loop)
{
    size_t kept = 0;

    for (size_t i = 0; i < loop->n; i++) {
        if (loop->fds[i].fd < 0)
            continue;
        loop->fds[kept] = loop->fds[i];
        loop->sources[kept++] = loop->sources[i];
    }
    loop->n = kept;
}

static int milliseconds(double seconds)
{
    double ms = ceil(seconds * 1e3);

    if (seconds < 0)
        return -1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* A handler may add and remove sources, even its own: keep no pointer across the
 * call. */
static int source_call(struct event_loop *loop, size_t i, struct error *err)
{
    const struct source source = loop->sources[i];
    uint64_t periods;

    loop->fds[i].revents = 0;
    if (source.timer &&
        read(loop->fds[i].fd, &periods, sizeof periods) != (ssize_t)sizeof periods)
        return 0;
    return source.handler(source.arg, err);
}

int event_loop_turn(struct event_loop *loop, double seconds, struct error *err)
{
    removed_drop(loop);
    if (poll(loop->fds, loop->n, milliseconds(seconds)) < 0) {
        if (errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "poll: %s", strerror(errno));
        return 0;
    }
    for (size_t i = 0, n = loop->n; i < n; i++)
        if (loop->fds[i].revents && source_call(loop, i, err) < 0)
            return -1;
    return 0;
}
