/*
 * progress.c - what the user sees on standard error during a run: a block that is
 * redrawn on a terminal, lines elsewhere, and a summary at the end. The state that is
 * shown, and its layout, are in view/.
 *
 *   Checkpoints    on storage
 *   Output         messages, the block, plain lines
 *   The callbacks
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "callback/callback.h"
#include "event/outlet.h"
#include "run/checkpoint_manager.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "view/block.h"
#include "view/next_command.h"
#include "view/plain.h"
#include "view/summary.h"
#include "view/terminal.h"

#define TICK_S       0.2 /* how often to check whether to print */
#define DRAW_EVERY_S 0.1 /* the shortest time between two drawings */
/* between lines for reports; the last one is always printed */
#define PLAIN_EVERY_S 5.0

struct progress {
    struct run_state view;
    struct terminal terminal;
    enum progress_style style; /* BAR on a terminal; else PLAIN */
    struct event_loop *loop;   /* NULL: none */
    int timer;
    const char *run_dir;
    bool keep_run;         /* keep the run directory, even that of a prediction */
    bool pending;          /* the last report has not been printed as a line */
    double printed, drawn; /* when they were last done */
    long second;           /* of the elapsed time, as drawn */
    bool changed;          /* since the last drawing */
};

/* ---- Checkpoints ---- */

static void checkpoint_look(struct progress *p, int64_t iteration, double now)
{
    char *path = iteration > 0 ? run_dir_checkpoint(p->run_dir, iteration) : NULL;
    struct stat st;

    if (path && stat(path, &st) == 0) {
        double age = clock_unix_double() - (double)st.st_mtim.tv_sec;

        run_state_saved(&p->view, iteration, (uint64_t)st.st_size, now - fmax(age, 0));
        p->changed = true;
    }
    free(path);
}

/* ---- Output ---- */

/* Not while another job, such as the shell, has the terminal. */
static bool is_block(const struct progress *p)
{
    return p->style == PROGRESS_BAR && !terminal_is_taken(p->terminal.fd);
}

static void block_draw(struct progress *p)
{
    struct page_style style = terminal_style(&p->terminal);
    double now = clock_now();
    struct page page;

    page_init(&page, &style);
    block_write(&page, &p->view, p->terminal.rows - 1, now);
    terminal_draw(&p->terminal, &page);
    page_clear(&page);
    p->drawn = now;
    p->second = (long)(now - p->view.started);
    p->changed = p->pending = false;
}

static void report_print(struct progress *p)
{
    char *line = p->pending ? plain_report(&p->view, clock_now()) : NULL;

    if (line)
        outlet_print(outlet_messages(), "%s\n", line);
    free(line);
    if (p->pending)
        p->printed = clock_now();
    p->pending = false;
}

static void refresh(struct progress *p)
{
    double now = clock_now();

    if (!is_block(p)) {
        p->terminal.drawn = 0;
        if (p->pending && (p->printed == 0 || now - p->printed >= PLAIN_EVERY_S))
            report_print(p);
    } else if (now - p->drawn >= DRAW_EVERY_S &&
               (p->changed || (long)(now - p->view.started) != p->second)) {
        block_draw(p);
    }
}

static int on_tick(void *arg, struct error *err)
{
    struct progress *p = arg;

    (void)err;
    if (p->view.saving > 0)
        checkpoint_look(p, p->view.saving, clock_now());
    refresh(p);
    return 0;
}

/* Print a line that stays. The outlet removes the block first. */
static void text_say(struct progress *p, const char *text)
{
    if (!is_block(p))
        report_print(p);
    outlet_print(outlet_messages(), "raytrain: %s\n", text);
    p->changed = true;
}

/* ---- The callbacks ---- */

static void earlier_report(void *arg, const json_t *report)
{
    run_state_report(arg, report, 0);
}

bool progress_draws(const struct options *opt)
{
    return opt->progress != PROGRESS_PLAIN && terminal_can_draw(STDERR_FILENO);
}

static int progress_create(struct callback *cb, const struct callback_context *context,
                           struct error *err)
{
    const struct options *opt = context->opt;
    struct progress *p = calloc(1, sizeof *p);

    if (!p)
        return error_no_memory(err);
    p->timer = -1;
    p->run_dir = context->run_dir;
    p->keep_run = opt->keep_run || !context->cfg->predict.output;
    p->style = progress_draws(opt) ? PROGRESS_BAR : PROGRESS_PLAIN;
    run_state_init(&p->view, context->cfg, clock_now());
    if (opt->resume)
        metrics_each(context->run_dir, earlier_report, &p->view, NULL);
    if (p->style == PROGRESS_BAR)
        terminal_open(&p->terminal, outlet_messages(), STDERR_FILENO);
    if (context->loop &&
        event_loop_every(context->loop, TICK_S, on_tick, p, &p->timer, NULL) == 0)
        p->loop = context->loop;
    cb->impl = p;
    return 0;
}

static void progress_attempt_start(struct callback *cb, const json_t *attempt)
{
    struct progress *p = cb->impl;
    double now = clock_now();
    char *line;

    run_state_attempt_start(&p->view, attempt, now);
    checkpoint_look(p, checkpoint_manager_newest(p->run_dir), now);
    if (!is_block(p) && (line = plain_attempt(&p->view))) {
        text_say(p, line);
        free(line);
    }
    p->changed = true;
    refresh(p);
}

static void on_total(struct callback *cb, int64_t iterations)
{
    struct progress *p = cb->impl;

    run_state_total(&p->view, iterations);
    p->changed = true;
}

/* An asynchronous save has ended when the next one begins. */
static void progress_report(struct callback *cb, const json_t *report)
{
    struct progress *p = cb->impl;
    double now = clock_now();

    if (p->view.saving > 0 && json_is_string(json_object_get(report, "checkpoint")))
        checkpoint_look(p, p->view.saving, now);
    run_state_report(&p->view, report, now);
    p->pending = p->changed = true;
    refresh(p);
}

static void progress_note(struct callback *cb, const char *text)
{
    struct progress *p = cb->impl;

    run_state_note(&p->view, text, clock_now());
    text_say(p, text);
    refresh(p);
}

/* The outlet has removed the block. */
static void on_live(struct callback *cb, const char *line)
{
    struct progress *p = cb->impl;

    run_state_live(&p->view, line);
    p->changed = true;
    if (is_block(p))
        refresh(p);
}

static void progress_attempt_end(struct callback *cb, const json_t *attempt)
{
    struct progress *p = cb->impl;

    run_state_attempt_end(&p->view, attempt, clock_now());
    p->changed = true;
    if (!is_block(p))
        report_print(p);
    else
        refresh(p);
}

static void progress_end(struct callback *cb, const json_t *result)
{
    struct progress *p = cb->impl;
    const char *path = json_string_value(json_object_get(result, "path"));
    const char *status = json_string_value(json_object_get(result, "status"));
    bool gone = !p->keep_run && status && strcmp(status, "finished") == 0;
    const json_t *last = json_object_get(result, "metrics");
    char *inspect, *text;

    if (p->view.iteration == 0 && json_is_object(last))
        run_state_report(&p->view, last, 0);
    inspect = gone || !path ? NULL : next_command("raytrain-inspect", path);
    text = summary_text(&p->view, result, inspect,
                        p->style == PROGRESS_BAR && p->terminal.color, clock_now());
    if (p->style == PROGRESS_BAR)
        terminal_erase(&p->terminal);
    if (text)
        outlet_print(outlet_messages(), "%s", text);
    free(text);
    free(inspect);
}

static void progress_destroy(struct callback *cb)
{
    struct progress *p = cb->impl;

    if (p->loop)
        event_loop_remove(p->loop, p->timer);
    if (p->style == PROGRESS_BAR)
        terminal_close(&p->terminal);
    run_state_clear(&p->view);
    free(p);
}

const struct callback_ops callback_progress = {
    .create = progress_create,
    .on_attempt_start = progress_attempt_start,
    .on_total = on_total,
    .on_report = progress_report,
    .on_live = on_live,
    .on_note = progress_note,
    .on_attempt_end = progress_attempt_end,
    .on_end = progress_end,
    .destroy = progress_destroy,
};
