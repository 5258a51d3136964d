/*
 * fit_events.c - if fit() of the Python module has started this process, and there are
 * UserCallbacks, fit() gets each event as a line of JSON through a FIFO, whose path is
 * in the environment. It reads at once (share/python/raytrain/_events.py). If it does
 * not, lines are kept up to a limit; later lines are lost, and counted in the next one
 * that is kept.
 *
 * If a method of a callback fails, the run ends: fit() writes the reason into a file,
 * whose path is also in the environment, and sends SIGINT.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback/callback.h"
#include "callback/kept_lines.h"
#include "util/clock.h"
#include "util/quote.h"
#include "util/run_record.h"

#define GATHER_S 0.2 /* how often lines are written */
#define READER_END_S 5.0 /* how long the end of a run waits for the reader */

struct fit_events {
    struct event_loop *loop;
    struct kept_lines lines;
    int timer;
    char *failure; /* the path; NULL: unknown, or out of memory */
};

/* ---- Lines ---- */

static int fit_events_timer(void *arg, struct error *err)
{
    (void)err;
    kept_lines_write(&((struct fit_events *)arg)->lines);
    return 0;
}

/* Takes ownership of the members. Without memory the event is lost. */
static void fit_event_send(struct callback *cb, json_t *members)
{
    struct fit_events *f = cb->impl;
    char *line = members && f->lines.fd >= 0 ? json_dumps(members, JSON_COMPACT) : NULL;

    if (!line || !kept_lines_add(&f->lines, line))
        kept_lines_lose(&f->lines);
    free(line);
    json_decref(members);
}

/* ---- Events ---- */

/* Sends the line at once, without waiting for more. */
static void event_send_now(struct callback *cb, json_t *members)
{
    struct fit_events *f = cb->impl;

    fit_event_send(cb, members);
    kept_lines_write(&f->lines);
}

static json_t *same(const json_t *value)
{
    return json_incref((json_t *)(uintptr_t)value);
}

static void fit_attempt_start(struct callback *cb, const json_t *attempt)
{
    event_send_now(cb, json_pack("{s:s, s:o}", "event", "attempt_start", "attempt",
                                 same(attempt)));
}

static void fit_report(struct callback *cb, const json_t *report)
{
    fit_event_send(cb,
                   json_pack("{s:s, s:o}", "event", "report", "report", same(report)));
}

static void on_worker_reports(struct callback *cb, const json_t *report,
                              const json_t *workers)
{
    fit_event_send(cb, json_pack("{s:s, s:o, s:o}", "event", "report", "report",
                                 same(report), "workers", same(workers)));
}

static void fit_attempt_end(struct callback *cb, const json_t *attempt)
{
    event_send_now(
        cb, json_pack("{s:s, s:o}", "event", "attempt_end", "attempt", same(attempt)));
}

/* Until all is written; the reader never blocks. */
static void fit_events_finish(struct fit_events *f, double seconds)
{
    double until = clock_now() + seconds;

    kept_lines_write(&f->lines);
    while (!kept_lines_written(&f->lines) && clock_now() < until) {
        struct pollfd p = {.fd = f->lines.fd, .events = POLLOUT};

        poll(&p, 1, 100);
        kept_lines_write(&f->lines);
    }
}

static void fit_end(struct callback *cb, const json_t *result)
{
    fit_event_send(cb, json_pack("{s:s, s:o}", "event", "end", "result", same(result)));
    fit_events_finish(cb->impl, READER_END_S);
}

static bool fit_events_failed(struct callback *cb, char *text, size_t size)
{
    struct fit_events *f = cb->impl;
    char *said = NULL;

    if (!f->failure || record_read(f->failure, RECORD_OF_RUN, &said, NULL, NULL) < 0)
        return false;
    snprintf(text, size, "%s", said);
    free(said);
    return true;
}

/* ---- Create and destroy ---- */

static void fit_start_send(struct callback *cb, const struct callback_context *context)
{
    event_send_now(cb, json_pack("{s:s, s:o, s:o}", "event", "start", "run",
                                 json_text(context->cfg->run_config.name), "path",
                                 json_text(context->run_dir)));
}

/* Removes the FIFO from the environment: workers may start their own runs. If the
 * reader has gone, training continues. */
static int fit_events_create(struct callback *cb,
                             const struct callback_context *context, struct error *err)
{
    const char *path = getenv(CALLBACK_FIT_VARIABLE);
    struct fit_events *f = calloc(1, sizeof *f);

    if (!f)
        return error_no_memory(err);
    *f = (struct fit_events){.loop = context->loop, .lines = KEPT_LINES_INIT};
    if (kept_lines_open(&f->lines, err) < 0) {
        free(f);
        return -1;
    }
    f->lines.fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    unsetenv(CALLBACK_FIT_VARIABLE);
    path = getenv(CALLBACK_FIT_FAILURE_VARIABLE);
    f->failure = path ? strdup(path) : NULL;
    unsetenv(CALLBACK_FIT_FAILURE_VARIABLE);
    if (event_loop_every(f->loop, GATHER_S, fit_events_timer, f, &f->timer, err) < 0) {
        kept_lines_clear(&f->lines);
        free(f->failure);
        free(f);
        return -1;
    }
    cb->impl = f;
    fit_start_send(cb, context);
    return 0;
}

static void fit_events_destroy(struct callback *cb)
{
    struct fit_events *f = cb->impl;

    fit_events_finish(f, 1);
    event_loop_remove(f->loop, f->timer);
    kept_lines_clear(&f->lines);
    free(f->failure);
    free(f);
}

const struct callback_ops callback_fit_events = {
    .passes_on = true,
    .create = fit_events_create,
    .failed = fit_events_failed,
    .on_attempt_start = fit_attempt_start,
    .on_report = fit_report,
    .on_worker_reports = on_worker_reports,
    .on_attempt_end = fit_attempt_end,
    .on_end = fit_end,
    .destroy = fit_events_destroy,
};
