/*
 * fit_events.c - if fit() of the Python module has started this process, and there are
 * UserCallbacks, it gets each event as a line of JSON through a FIFO, whose path is in the
 * environment. It reads at once (share/python/raytrain/_events.py); if it does not, a
 * bounded amount is kept, and later lines are lost, and counted in the next one that is
 * kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callback/callback.h"
#include "util/clock.h"
#include "util/quote.h"

#define KEPT_BYTES ((size_t)4 << 20)
#define RESERVED   128 /* of them, for a line about lines that are lost */
#define GATHER_S   0.2 /* how often lines are written */
#define END_S      5.0 /* how long the end of a run waits for the reader */

struct fit_events {
    struct event_loop *loop;
    int fd; /* -1: the reader has gone */
    int timer;
    char *kept; /* lines that are not written yet: KEPT_BYTES places */
    size_t n;
    uint64_t lost;
};

/* ---- Lines ---- */

/* As much as the FIFO takes. */
static void kept_write(struct fit_events *f)
{
    size_t done = 0;

    while (f->fd >= 0 && done < f->n) {
        ssize_t n = write(f->fd, f->kept + done, f->n - done);

        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            close(f->fd);
            f->fd = -1;
        }
    }
    memmove(f->kept, f->kept + done, f->n - done);
    f->n = f->fd >= 0 ? f->n - done : 0;
}

static int on_timer(void *arg, struct error *err)
{
    (void)err;
    kept_write(arg);
    return 0;
}

static void line_keep(struct fit_events *f, const char *line, size_t n)
{
    memcpy(f->kept + f->n, line, n);
    f->kept[f->n + n] = '\n';
    f->n += n + 1;
}

static bool has_room(struct fit_events *f, size_t n)
{
    if (f->n + n + 1 > KEPT_BYTES - RESERVED)
        kept_write(f);
    return f->n + n + 1 <= KEPT_BYTES - RESERVED;
}

static void line_send(struct fit_events *f, const char *line)
{
    size_t n = strlen(line);
    char text[RESERVED];
    int used;

    if (f->fd < 0)
        return;
    if (!has_room(f, n)) {
        f->lost++;
        return;
    }
    if (f->lost > 0) {
        used = snprintf(text, sizeof text, "{\"event\":\"lost\",\"lines\":%llu}",
                        (unsigned long long)f->lost);
        line_keep(f, text, (size_t)used);
        f->lost = 0;
    }
    line_keep(f, line, n);
}

/* Takes ownership of the members. Without memory the event is lost. */
static void event_send(struct callback *cb, json_t *members)
{
    struct fit_events *f = cb->impl;
    char *line = members && f->fd >= 0 ? json_dumps(members, JSON_COMPACT) : NULL;

    if (line)
        line_send(f, line);
    else
        f->lost++;
    free(line);
    json_decref(members);
}

/* ---- Events ---- */

static json_t *same(const json_t *value)
{
    return json_incref((json_t *)(uintptr_t)value);
}

static void on_attempt_start(struct callback *cb, const json_t *attempt)
{
    event_send(cb, json_pack("{s:s, s:o}", "event", "attempt_start", "attempt",
                             same(attempt)));
    kept_write(cb->impl);
}

static void on_report(struct callback *cb, const json_t *report)
{
    event_send(cb, json_pack("{s:s, s:o}", "event", "report", "report", same(report)));
}

static void on_attempt_end(struct callback *cb, const json_t *attempt)
{
    event_send(
        cb, json_pack("{s:s, s:o}", "event", "attempt_end", "attempt", same(attempt)));
    kept_write(cb->impl);
}

/* Until all is written; the reader never waits for anything. */
static void finish(struct fit_events *f, double seconds)
{
    double until = clock_now() + seconds;

    kept_write(f);
    while (f->n > 0 && f->fd >= 0 && clock_now() < until) {
        struct pollfd p = {.fd = f->fd, .events = POLLOUT};

        poll(&p, 1, 100);
        kept_write(f);
    }
}

static void on_end(struct callback *cb, const json_t *result)
{
    event_send(cb, json_pack("{s:s, s:o}", "event", "end", "result", same(result)));
    finish(cb->impl, END_S);
}

/* ---- Create and destroy ---- */

static void start_send(struct callback *cb, const struct callback_context *context)
{
    event_send(cb, json_pack("{s:s, s:o, s:o}", "event", "start", "run",
                             json_text(context->cfg->run_config.name), "path",
                             json_text(context->run_dir)));
}

/* The workers must not find the FIFO: they may start runs of their own. A reader that has
 * gone is no reason not to train. */
static int create(struct callback *cb, const struct callback_context *context,
                  struct error *err)
{
    const char *path = getenv(CALLBACK_FIT_VARIABLE);
    struct fit_events *f = calloc(1, sizeof *f);

    if (!f || !(f->kept = malloc(KEPT_BYTES))) {
        free(f);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    f->loop = context->loop;
    f->fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    unsetenv(CALLBACK_FIT_VARIABLE);
    if (event_loop_every(f->loop, GATHER_S, on_timer, f, &f->timer, err) < 0) {
        if (f->fd >= 0)
            close(f->fd);
        free(f->kept);
        free(f);
        return -1;
    }
    cb->impl = f;
    start_send(cb, context);
    kept_write(f);
    return 0;
}

static void destroy(struct callback *cb)
{
    struct fit_events *f = cb->impl;

    finish(f, 1);
    event_loop_remove(f->loop, f->timer);
    if (f->fd >= 0)
        close(f->fd);
    free(f->kept);
    free(f);
}

const struct callback_ops callback_fit_events = {
    .passes_on = true,
    .create = create,
    .on_attempt_start = on_attempt_start,
    .on_report = on_report,
    .on_attempt_end = on_attempt_end,
    .on_end = on_end,
    .destroy = destroy,
};
