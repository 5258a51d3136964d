/*
 * tee_process.c - what the process beside a shown worker (tee.h) does.
 *
 *   The channel    lines for raytrain-run, up to a limit
 *   A stream       from a pipe into a log, and a copy into the channel
 *   The loop       until the worker has ended
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/output_wire.h"
#include "show/tee.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/process.h"

#define CHANNEL_KEPT_BYTES (1 << 20) /* that the channel has not taken */
#define READ_BYTES 65536
#define GATHER_MS          3 /* the shortest time between two reads of a pipe */
#define LITTLE     8192
/* between two checks for the worker's end, on kernels without pidfds */
#define LOOK_MS 100
#define END_S   1.0 /* time for the channel after the worker has ended */

struct channel {
    int fd; /* -1: its reader is gone */
    int rank;
    char *kept; /* lines in [begin, n) */
    size_t begin, n;
    uint64_t lost; /* lines lost since the last one that was kept */
};

struct stream {
    int fd, log; /* fd is -1 at the end */
    enum output_kind kind;
    bool failed; /* the log cannot be written, which was reported */
};

struct tee {
    struct channel channel;
    struct stream streams[2];
    struct process worker;
};

/* ---- The channel ---- */

/* As many whole lines as a pipe accepts in one write. */
static size_t piece_end(const struct channel *c)
{
    size_t end = c->n - c->begin;

    if (end <= PIPE_BUF)
        return end;
    for (end = PIPE_BUF; c->kept[c->begin + end - 1] != '\n'; end--)
        continue;
    return end;
}

static void channel_write(struct channel *c)
{
    while (c->fd >= 0 && c->begin < c->n) {
        ssize_t done = write(c->fd, c->kept + c->begin, piece_end(c));

        if (done > 0) {
            c->begin += (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            return;
        } else if (done == 0 || errno != EINTR) {
            close(c->fd);
            c->fd = -1;
        }
    }
    c->begin = c->n = 0;
}

static bool channel_fits(struct channel *c)
{
    if (c->n + 2 * OUTPUT_LINE_MAX > CHANNEL_KEPT_BYTES && c->begin > 0) {
        memmove(c->kept, c->kept + c->begin, c->n - c->begin);
        c->n -= c->begin;
        c->begin = 0;
    }
    return c->fd >= 0 && c->kept && c->n + 2 * OUTPUT_LINE_MAX <= CHANNEL_KEPT_BYTES;
}

static uint64_t channel_newlines(const char *text, size_t n)
{
    uint64_t lines = 0;

    for (const char *at = text; (at = memchr(at, '\n', n - (size_t)(at - text))); at++)
        lines++;
    return lines;
}

static void channel_add(struct channel *c, enum output_kind kind, const char *text,
                        size_t n)
{
    size_t taken;

    while (n > 0 && channel_fits(c)) {
        if (c->lost > 0) {
            c->n += output_encode_lost(c->rank, c->lost, c->kept + c->n);
            c->lost = 0;
        }
        c->n += output_encode(c->rank, kind, text, n, c->kept + c->n, &taken);
        text += taken;
        n -= taken;
        if (n > 0 && !channel_fits(c))
            channel_write(c);
    }
    if (n > 0)
        c->lost += channel_newlines(text, n);
}

/* ---- A stream ---- */

static void log_write(struct tee *t, struct stream *s, const char *text, size_t n)
{
    char said[160];

    if (s->failed || fs_write_full(s->log, text, n) == 0)
        return;
    s->failed = true;
    snprintf(said, sizeof said, "cannot write the log of rank %d: %s", t->channel.rank,
             strerror(errno));
    channel_add(&t->channel, OUTPUT_NOTE, said, strlen(said));
}

/* Returns the number of bytes read; 0: there is nothing now, or the stream has
 * ended. */
static size_t stream_take(struct tee *t, struct stream *s)
{
    static char text[READ_BYTES];
    ssize_t n;

    if (s->fd < 0)
        return 0;
    do
        n = read(s->fd, text, sizeof text);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        log_write(t, s, text, (size_t)n);
        channel_add(&t->channel, s->kind, text, (size_t)n);
        return (size_t)n;
    }
    if (n == 0) {
        close(s->fd);
        s->fd = -1;
    }
    return 0;
}

/* ---- The loop ---- */

/* Standard error first: a traceback matters most. */
static size_t streams_take(struct tee *t)
{
    size_t n = stream_take(t, &t->streams[1]);

    return n + stream_take(t, &t->streams[0]);
}

static void tee_wait(struct tee *t)
{
    struct pollfd p[] = {{.fd = t->streams[0].fd, .events = POLLIN},
                         {.fd = t->streams[1].fd, .events = POLLIN},
                         {.fd = t->worker.fd, .events = POLLIN},
                         {.fd = t->channel.begin < t->channel.n ? t->channel.fd : -1,
                          .events = POLLOUT}};

    (void)poll(p, sizeof p / sizeof *p, t->worker.fd < 0 ? LOOK_MS : -1);
}

static void tee_follow(struct tee *t)
{
    bool ended = false;

    while (!ended && (t->streams[0].fd >= 0 || t->streams[1].fd >= 0)) {
        tee_wait(t);
        ended = process_wait(
            &t->worker, streams_take(t) < LITTLE && t->worker.fd >= 0 ? GATHER_MS : 0);
        channel_write(&t->channel);
    }
}

/* Read what is left in the pipes. Other processes may still print, so only for a
 * limited time. */
static void tee_finish(struct tee *t)
{
    double until = clock_now() + END_S;
    struct channel *c = &t->channel;

    while (streams_take(t) > 0 && clock_now() < until)
        channel_write(c);
    if (c->lost > 0 && channel_fits(c)) {
        c->n += output_encode_lost(c->rank, c->lost, c->kept + c->n);
        c->lost = 0;
    }
    for (channel_write(c); c->fd >= 0 && c->begin < c->n && clock_now() < until;) {
        struct pollfd p = {.fd = c->fd, .events = POLLOUT};

        poll(&p, 1, 100);
        channel_write(c);
    }
}

static void signals_ignore(void)
{
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD && sig != SIGSEGV &&
            sig != SIGBUS && sig != SIGABRT)
            signal(sig, SIG_IGN);
}

static void nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void tee_run(int rank, int worker)
{
    struct tee t = {.channel = {.fd = TEE_CHANNEL, .rank = rank},
                    .streams = {{TEE_OUT, TEE_OUT_LOG, OUTPUT_STDOUT, false},
                                {TEE_ERR, TEE_ERR_LOG, OUTPUT_STDERR, false}}};

    signals_ignore();
    for (int fd = TEE_OUT; fd < TEE_END; fd++)
        if (fd != TEE_OUT_LOG && fd != TEE_ERR_LOG)
            nonblocking(fd);
    t.channel.kept = malloc(CHANNEL_KEPT_BYTES);
    if (process_open(worker, &t.worker) == 0)
        tee_follow(&t);
    tee_finish(&t);
    _exit(0);
}
