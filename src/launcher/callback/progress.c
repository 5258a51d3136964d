/*
 * progress.c - what the user sees while a run goes on, on standard error: a line that
 * is rewritten on a terminal ("bar"), or lines of their own elsewhere ("plain").
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callback/callback.h"
#include "util/clock.h"
#include "event/outlet.h"

#define PLAIN_EVERY_S                                                                  \
    1.0 /* plain lines are no more frequent; the last one always comes */

struct progress {
    enum progress_style style; /* BAR, PLAIN or NONE */
    bool quiet;
    bool line_open;     /* a rewritten line stands on the terminal */
    double printed_s;   /* when the last line was printed */
    char last[512];     /* the newest report as text */
    bool pending;       /* last has not been printed */
    const char *output; /* of a prediction; NULL: this is a training */
    bool keep_run;      /* the run directory stays, also that of a prediction */
};

static void line_close(struct progress *p)
{
    if (p->line_open)
        outlet_print(outlet_messages(), "\n");
    p->line_open = false;
}

static void say(struct progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct progress *p, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    line_close(p);
    outlet_print(outlet_messages(), "raytrain: %s\n", text);
}

static int progress_create(struct callback *cb, const struct callback_context *context,
                           struct error *err)
{
    const struct options *opt = context->opt;
    struct progress *p = calloc(1, sizeof *p);

    if (!p)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    p->output = context->cfg->predict.output;
    p->keep_run = opt->keep_run || !p->output;
    p->quiet = opt->quiet;
    p->style = opt->quiet ? PROGRESS_NONE : opt->progress;
    if (p->style == PROGRESS_AUTO)
        p->style = isatty(STDERR_FILENO) ? PROGRESS_BAR : PROGRESS_PLAIN;
    cb->impl = p;
    return 0;
}

static void on_attempt_start(struct callback *cb, const json_t *attempt)
{
    struct progress *p = cb->impl;
    json_t *nodes = json_object_get(attempt, "nodes");

    if (p->style == PROGRESS_NONE)
        return;
    say(p, "attempt %lld: %lld workers on %zu node%s, launcher %s",
        (long long)json_integer_value(json_object_get(attempt, "attempt")),
        (long long)json_integer_value(json_object_get(attempt, "workers")),
        json_array_size(nodes), json_array_size(nodes) == 1 ? "" : "s",
        json_string_value(json_object_get(attempt, "launcher")));
}

/* Append to text[used..size), cutting what does not fit. */
static size_t append(char *text, size_t size, size_t used, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static size_t append(char *text, size_t size, size_t used, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text + used, size - used, fmt, ap);
    va_end(ap);
    if (n < 0)
        return used;
    return used + (size_t)n < size ? used + (size_t)n : size - 1;
}

/* "iteration 3  loss 0.31  accuracy 0.881  12.1 s": the user's metrics are those that
 * by_rank lists. */
static void report_format(const json_t *report, char *text, size_t size)
{
    const char *name;
    json_t *ranks;
    size_t used = append(
        text, size, 0, "iteration %lld",
        (long long)json_integer_value(json_object_get(report, "training_iteration")));

    json_object_foreach(json_object_get(report, "by_rank"), name, ranks)
    {
        json_t *value = json_object_get(report, name);

        used = append(text, size, used, "  %s %.5g", name,
                      json_is_number(value) ? json_number_value(value) : NAN);
    }
    used = append(text, size, used, "  %.1f s",
                  json_number_value(json_object_get(report, "time_total_s")));
    if (json_is_string(json_object_get(report, "checkpoint")))
        append(text, size, used, "  checkpoint");
}

static void report_print(struct progress *p)
{
    if (!p->pending)
        return;
    if (p->style == PROGRESS_BAR) {
        outlet_print(outlet_messages(), "\r\033[K%s", p->last);
        p->line_open = true;
    } else {
        outlet_print(outlet_messages(), "%s\n", p->last);
    }
    p->printed_s = clock_now();
    p->pending = false;
}

static void on_report(struct callback *cb, const json_t *report)
{
    struct progress *p = cb->impl;

    if (p->style == PROGRESS_NONE)
        return;
    report_format(report, p->last, sizeof p->last);
    p->pending = true;
    if (p->style == PROGRESS_BAR || p->printed_s == 0 ||
        clock_now() - p->printed_s >= PLAIN_EVERY_S)
        report_print(p);
}

static void on_note(struct callback *cb, const char *text)
{
    struct progress *p = cb->impl;

    if (p->style != PROGRESS_NONE)
        report_print(p);
    say(p, "%s", text);
}

static void on_attempt_end(struct callback *cb, const json_t *attempt)
{
    struct progress *p = cb->impl;

    (void)attempt;
    if (p->style != PROGRESS_NONE)
        report_print(p);
    line_close(p);
}

static void on_end(struct callback *cb, const json_t *result)
{
    struct progress *p = cb->impl;
    const char *checkpoint = json_string_value(json_object_get(result, "checkpoint"));
    const char *best = json_string_value(json_object_get(result, "best_checkpoint"));
    const char *path = json_string_value(json_object_get(result, "path"));
    const char *status = json_string_value(json_object_get(result, "status"));

    if (p->style == PROGRESS_NONE)
        return;
    say(p, "%s", status);
    if (p->output && strcmp(status, "finished") == 0) {
        outlet_print(outlet_messages(), "  output      %s\n", p->output);
        if (!p->keep_run)
            return;
    }
    outlet_print(outlet_messages(), "  run         %s\n", path);
    if (checkpoint)
        outlet_print(outlet_messages(), "  checkpoint  %s\n", checkpoint);
    if (best && checkpoint && strcmp(best, checkpoint) != 0)
        outlet_print(outlet_messages(), "  best        %s\n", best);
    outlet_print(outlet_messages(), "  look at it  raytrain-inspect %s\n", path);
}

static void progress_destroy(struct callback *cb)
{
    line_close(cb->impl);
    free(cb->impl);
}

const struct callback_ops callback_progress = {
    .create = progress_create,
    .on_attempt_start = on_attempt_start,
    .on_report = on_report,
    .on_note = on_note,
    .on_attempt_end = on_attempt_end,
    .on_end = on_end,
    .destroy = progress_destroy,
};
