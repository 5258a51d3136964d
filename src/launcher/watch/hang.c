/*
 * hang.c - detects attempts that no longer make progress.
 *
 * A hang is hang_timeout_s seconds without a report, from the start of the workers on:
 * start-up, restoring, training and saving all count, since each of them can hang. Long
 * work before the first report may send signs of progress instead (EVENT_PROGRESS).
 * Then every worker is asked for its stack and for the collective call that it has
 * reached. Those that do not answer within STACK_ANSWER_S, and those that are behind
 * the others, are to blame. A report that arrives meanwhile ends the alarm.
 *
 * Time is counted from tick to tick, at most TICK_MAX_S each: time in which this
 * process itself was stopped, as when Slurm suspends a job, does not count as silence.
 */
#include "watch/watch.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "protocol/worker_env.h"
#include "util/rank_list.h"

#define TICK_MAX_S 1.0

struct hang {
    double timeout, quiet; /* seconds */
    double ticked;         /* clock_now() */
    double last_sign;      /* the report, or sign of progress, before the silence */
    bool asked;
    struct rank_status *before; /* the ranks' records when they were asked */
};

static int hang_create(const struct watch_view *view, void **state, struct error *err)
{
    int timeout = view->cfg->run_config.failure_config.hang_timeout_s;
    struct hang *h;

    *state = NULL;
    if (timeout == 0)
        return 0;
    h = malloc(sizeof *h);
    if (!h)
        return error_no_memory(err);
    *h = (struct hang){.timeout = timeout, .ticked = view->now};
    *state = h;
    return 0;
}

/* ---- The time without a report ---- */

static void quiet_count(struct hang *h, const struct watch_view *view)
{
    double passed = view->now - h->ticked;
    double sign = fmax(view->last_report, view->last_progress);

    h->ticked = view->now;
    if (sign == h->last_sign) {
        h->quiet += passed < TICK_MAX_S ? passed : TICK_MAX_S;
        return;
    }
    if (h->asked)
        callback_note(
            view->callbacks,
            "the workers continued after %.0f s; the workers' logs show where they "
            "were meanwhile",
            h->quiet);
    h->last_sign = sign;
    h->quiet = 0;
    h->asked = false;
}

/* ---- Asking the workers ---- */

static struct rank_status *answers_read(const struct watch_view *view)
{
    return rank_status_read(view->log_dir, RANK_STATUS_ASKED, view->plan->workers);
}

/* Ignores answers to an earlier alarm. */
static struct rank_status *new_answers_read(const struct hang *h,
                                            const struct watch_view *view)
{
    struct rank_status *at = answers_read(view);

    for (int i = 0; at && h->before && i < view->plan->workers; i++)
        if (at[i].times == h->before[i].times)
            at[i].calls = -1;
    return at;
}

/* Errors are not reported: a worker that cannot be reached does not answer. */
static void workers_ask(struct hang *h, const struct watch_view *view)
{
    h->asked = true;
    free(h->before);
    h->before = answers_read(view);
    view->signal(view->group, WORKER_STACK_SIGNAL, NULL);
}

static bool all_answered(const struct rank_status at[], int size)
{
    for (int i = 0; i < size; i++)
        if (at[i].calls < 0)
            return false;
    return true;
}

/* ---- The answers as a sentence ---- */

enum place { SILENT, BEHIND, AHEAD, N_PLACES };

/* The ranks by place, and the call that the foremost have reached. */
struct roll {
    bool *in[N_PLACES];
    int n[N_PLACES], lowest[N_PLACES];
    const char *call;
};

static void roll_call(const struct rank_status at[], int size, struct roll *roll)
{
    int64_t most = 0;

    for (int i = 0; i < size; i++)
        most = at[i].calls > most ? at[i].calls : most;
    for (int i = size - 1; i >= 0; i--) {
        enum place place = at[i].calls < 0      ? SILENT
                           : at[i].calls < most ? BEHIND
                                                : AHEAD;

        roll->in[place][i] = true;
        roll->n[place]++;
        roll->lowest[place] = i;
        if (place == AHEAD)
            roll->call = at[i].call;
    }
}

static size_t sentence_add(char *out, size_t max, size_t used, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static size_t sentence_add(char *out, size_t max, size_t used, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(out + used, max - used, fmt, ap);
    va_end(ap);
    return n > 0 && (size_t)n < max - used ? used + (size_t)n : used;
}

static void roll_describe(const struct roll *roll, int size, char *out, size_t max,
                          size_t used)
{
    char list[RANK_LIST_MAX], others[RANK_LIST_MAX];

    if (roll->n[SILENT] > 0)
        used = sentence_add(out, max, used,
                            ": %s %s not answer (stopped, or blocked in a system "
                            "call)",
                            rank_list(roll->in[SILENT], size, list),
                            roll->n[SILENT] > 1 ? "do" : "does");
    if (roll->n[BEHIND] > 0)
        used = sentence_add(out, max, used, "%s %s %s not reached %s, where %s %s",
                            roll->n[SILENT] > 0 ? ";" : ":",
                            rank_list(roll->in[BEHIND], size, list),
                            roll->n[BEHIND] > 1 ? "have" : "has", roll->call,
                            rank_list(roll->in[AHEAD], size, others),
                            roll->n[AHEAD] > 1 ? "are" : "is");
    else if (roll->n[AHEAD] > 0)
        used = sentence_add(out, max, used, "%s %s %s reached %s, and no further",
                            roll->n[SILENT] > 0 ? ";" : ":",
                            rank_list(roll->in[AHEAD], size, others),
                            roll->n[AHEAD] > 1 ? "have" : "has", roll->call);
    if (roll->n[SILENT] < size)
        sentence_add(out, max, used, "; the stacks are in the logs");
}

int hang_sentence(const struct rank_status at[], int size, double quiet_s, char *out,
                  size_t out_max)
{
    struct roll roll = {.lowest = {-1, -1, -1}};
    bool *in = calloc((size_t)size * N_PLACES, sizeof *in);
    size_t used = sentence_add(out, out_max, 0, "no report for %.0f s", quiet_s);

    if (!in)
        return -1;
    for (int i = 0; i < N_PLACES; i++)
        roll.in[i] = in + (size_t)size * (size_t)i;
    roll_call(at, size, &roll);
    roll_describe(&roll, size, out, out_max, used);
    free(in);
    if (roll.n[SILENT] > 0)
        return roll.lowest[SILENT];
    if (roll.n[BEHIND] > 0)
        return roll.lowest[BEHIND];
    return size == 1 ? 0 : -1;
}

/* ---- The observer ---- */

/* Have all ranks answered, or had enough time to? */
static enum watch_verdict answers_look(const struct hang *h,
                                       const struct watch_view *view,
                                       struct failure *finding)
{
    const struct placement *plan = view->plan;
    struct rank_status *at = new_answers_read(h, view);
    enum watch_verdict verdict = WATCH_GOES_ON;

    if (at &&
        (h->quiet >= h->timeout + STACK_ANSWER_S || all_answered(at, plan->workers))) {
        verdict = WATCH_END;
        finding->cause = CAUSE_HANG;
        finding->rank = hang_sentence(at, plan->workers, h->timeout, finding->message,
                                      sizeof finding->message);
        snprintf(finding->host, sizeof finding->host, "%s",
                 placement_host(plan, finding->rank));
    }
    free(at);
    return verdict;
}

static enum watch_verdict hang_tick(void *state, const struct watch_view *view,
                                    struct failure *finding)
{
    struct hang *h = state;

    quiet_count(h, view);
    if (h->quiet < h->timeout)
        return WATCH_GOES_ON;
    if (!h->asked)
        workers_ask(h, view);
    return answers_look(h, view, finding);
}

static void hang_destroy(void *state)
{
    struct hang *h = state;

    free(h->before);
    free(h);
}

const struct watch_ops hang_watch = {
    .name = "hang",
    .create = hang_create,
    .tick = hang_tick,
    .destroy = hang_destroy,
};
