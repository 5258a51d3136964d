/*
 * stop_limits.c - limits on how long the workers may still take.
 *
 * The end of the allocation: the workers are asked to stop early enough to save
 * (run_config.stop_before_end_s). At the end, which comes early if the job is
 * cancelled, the batch system asks its processes to end, and kills them some time
 * later. The workers are killed before that, which leaves time to write the Result.
 *
 * The end is a time by the batch system's clock, which may be hours off ours: the
 * difference is measured once per attempt.
 *
 * The grace period: workers that were asked to stop are killed run_config.grace_s after
 * the latest request.
 */
#include "watch/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "protocol/preemption_notice.h"

/* ---- The end of the allocation ---- */

#define FRESH_S    10.0 /* older answers are not acted on: the end may have moved */
#define RECALLED_S     60.0 /* the maximum age of an attempt's first answer */
#define LIMITS_AGAIN_S 60.0 /* the pause after a question without an answer */
#define LAST_S         5.0 /* reserved for the Result, but at most half of the time left */

struct time_watch {
    const struct batch_ops *batch;
    struct batch_query *query; /* in progress */
    double asked;              /* when the latest question was asked; clock_now() */
    bool answered;
    double end; /* Unix time of the batch system; 0: none, or not known */
    struct batch_query *limits_query; /* in progress */
    bool limits_known;
    double ahead;       /* how far its clock is ahead of ours */
    double kill_wait_s; /* from the end until it kills */
    /* Once the workers have been asked to stop: */
    bool stopping;
    int requests; /* seen when the end was asked for */
    double last;  /* the time kept for the Result; 0: not known yet */
};

static void question_drop(struct time_watch *w)
{
    w->batch->query_destroy(w->query);
    w->query = NULL;
}

/* Asked once per attempt; without an answer, again with each question about the end. */
static void limits_ask(struct time_watch *w)
{
    if (w->limits_known || w->limits_query)
        return;
    w->batch->limits_start(&w->limits_query, NULL);
}

static void question_ask(struct time_watch *w, const struct watch_view *view)
{
    if (w->query)
        return;
    w->asked = view->now;
    w->batch->query_start(&w->query, NULL);
    limits_ask(w);
}

/* The answer has whole seconds: on average, half a second more has passed. */
static void limits_take(struct time_watch *w, const struct watch_view *view)
{
    struct batch_limits limits;
    bool done = false;
    int rc;

    if (!w->limits_query)
        return;
    rc = w->batch->limits_poll(w->limits_query, &done, &limits, NULL);
    if (rc == 0 && done) {
        w->ahead = limits.now + 0.5 - view->unix_now;
        w->kill_wait_s = limits.kill_wait_s;
        w->limits_known = true;
    }
    if (rc < 0 || done) {
        w->batch->query_destroy(w->limits_query);
        w->limits_query = NULL;
    }
}

/* Unix time by the batch system's clock. */
static double batch_now(const struct time_watch *w, const struct watch_view *view)
{
    return view->unix_now + w->ahead;
}

/* Without an answer, the last known end remains. */
static void limits_answer_take(struct time_watch *w)
{
    struct batch_job job;
    bool done = false;

    if (!w->query)
        return;
    if (w->batch->query_poll(w->query, &done, &job, NULL) < 0) {
        question_drop(w);
    } else if (done) {
        w->answered = true;
        w->last = w->end == (double)job.end ? w->last : 0;
        w->end = (double)job.end;
        question_drop(w);
    }
}

/* Is the known end recent enough to act on? If not, ask again. */
static bool is_fresh(struct time_watch *w, const struct watch_view *view)
{
    if (!w->query && view->now - w->asked < FRESH_S)
        return true;
    question_ask(w, view);
    return false;
}

/* The batch system was asked before the run started. Ask again before acting on the
 * end. */
static void answer_begin(struct time_watch *w, const struct watch_view *view)
{
    struct batch_job job;

    if (!w->batch->recall(RECALLED_S, &job)) {
        question_ask(w, view);
        return;
    }
    w->answered = true;
    w->end = (double)job.end;
    limits_ask(w);
}

static int time_watch_create(const struct watch_view *view, void **state,
                             struct error *err)
{
    struct time_watch *w;

    if (view->cfg->run_config.stop_before_end_s == 0 || !view->batch)
        return 0;
    if (!(w = calloc(1, sizeof *w)))
        return error_no_memory(err);
    w->batch = view->batch;
    answer_begin(w, view);
    *state = w;
    return 0;
}

/* How long the next report may take: as long as the latest ones, and at least as long
 * as the one in progress has taken so far. */
static double report_time(const struct watch_view *view)
{
    double under_way = view->last_report > 0 ? view->now - view->last_report : 0;

    return fmax(report_pace_longest(&view->pace), under_way);
}

/*
 * Workers notice the request at their next report, and a training function that asks
 * whether to save does so with the report after it: each may take this long. A save in
 * the background takes additional time.
 */
static enum watch_verdict stop_tick(struct time_watch *w, const struct watch_view *view,
                                    struct failure *finding)
{
    double now = batch_now(w, view);
    double margin = view->cfg->run_config.stop_before_end_s + 2 * report_time(view) +
                    view->save_max_s;
    time_t end = (time_t)(w->end - w->ahead);
    struct tm tm;
    char at[32] = "";

    if (!w->answered && view->now - w->asked > LIMITS_AGAIN_S)
        question_ask(w, view);
    if (w->end == 0 || w->limits_query || now < w->end - margin || !is_fresh(w, view))
        return WATCH_GOES_ON;
    if (localtime_r(&end, &tm))
        strftime(at, sizeof at, " at %H:%M:%S", &tm);
    finding->cause = CAUSE_TIME_LIMIT;
    snprintf(finding->message, sizeof finding->message,
             "the allocation ends%s, in %.0f s: stopping at the next report", at,
             w->end - now);
    return WATCH_STOP;
}

/* After the workers were asked to stop: how long to wait for them. A preempted job ends
 * earlier than planned, so the end is asked for again. */
static enum watch_verdict end_tick(struct time_watch *w, const struct watch_view *view,
                                   struct failure *finding)
{
    double left = w->end + w->kill_wait_s - batch_now(w, view);

    if (!w->stopping || w->requests != view->requests)
        question_ask(w, view);
    w->stopping = true;
    w->requests = view->requests;
    if (w->query || w->limits_query || w->end == 0)
        return WATCH_GOES_ON;
    if (w->last == 0) {
        w->last = left / 2 < LAST_S ? left / 2 : LAST_S;
        preemption_notice_write_end(view->log_dir, view->unix_now + left - w->last,
                                    NULL);
    }
    if (left > w->last || !is_fresh(w, view))
        return WATCH_GOES_ON;
    finding->cause = CAUSE_TIME_LIMIT;
    snprintf(finding->message, sizeof finding->message,
             "the job is killed in %.0f s: not waiting any longer for the next "
             "report; the run continues from the latest checkpoint",
             left > 0 ? left : 0);
    return WATCH_END;
}

static enum watch_verdict time_watch_tick(void *state, const struct watch_view *view,
                                          struct failure *finding)
{
    struct time_watch *w = state;

    limits_answer_take(w);
    limits_take(w, view);
    return view->stopping ? end_tick(w, view, finding) : stop_tick(w, view, finding);
}

static void time_watch_destroy(void *state)
{
    struct time_watch *w = state;

    question_drop(w);
    w->batch->query_destroy(w->limits_query);
    free(w);
}

const struct watch_ops time_watch = {
    .name = "time",
    .create = time_watch_create,
    .tick = time_watch_tick,
    .destroy = time_watch_destroy,
};

/* ---- The grace period ---- */

struct grace_watch {
    double asked; /* when the workers were asked to stop; 0: not yet */
    int requests; /* seen by then */
};

static int grace_watch_create(const struct watch_view *view, void **state,
                              struct error *err)
{
    if (view->cfg->run_config.grace_s == 0)
        return 0;
    if (!(*state = calloc(1, sizeof(struct grace_watch))))
        return error_no_memory(err);
    return 0;
}

static enum watch_verdict grace_watch_tick(void *state, const struct watch_view *view,
                                           struct failure *finding)
{
    struct grace_watch *w = state;
    int grace_s = view->cfg->run_config.grace_s;

    if (!view->stopping)
        return WATCH_GOES_ON;
    if (w->asked == 0 || w->requests != view->requests) {
        w->asked = view->now;
        w->requests = view->requests;
    }
    if (view->now - w->asked < grace_s)
        return WATCH_GOES_ON;
    snprintf(finding->message, sizeof finding->message,
             "the workers have not stopped within %d s (run_config.grace_s): killing "
             "them; the run continues from the latest checkpoint",
             grace_s);
    return WATCH_END;
}

const struct watch_ops grace_watch = {
    .name = "grace",
    .create = grace_watch_create,
    .tick = grace_watch_tick,
    .destroy = free,
};
