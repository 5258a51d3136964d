#include "watch/time_limit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "slurm/job.h"

#define FRESH_S 10.0 /* an answer that is older is not acted on: the end moves */
#define AGAIN_S 60.0 /* from a question without an answer to the next */
#define LAST_S  5.0  /* kept for the Result, but no more than half of what is left */

struct time_watch {
    struct slurm_query *query; /* on its way */
    double asked;              /* when the latest question was; clock_now() */
    bool answered;
    double end; /* Unix time; 0: none, or not known */
    /* Once a stop has been asked for: */
    bool stopping;
    double last; /* how much of the time is kept; 0: not known yet */
};

static void question_drop(struct time_watch *w)
{
    slurm_query_destroy(w->query);
    w->query = NULL;
}

static void question_ask(struct time_watch *w, const struct watch_view *view)
{
    if (w->query)
        return;
    w->asked = view->now;
    slurm_query_start(&w->query, NULL);
}

/* Without an answer, what was known before stands. */
static void answer_take(struct time_watch *w)
{
    struct slurm_job job;
    bool done = false;

    if (!w->query)
        return;
    if (slurm_query_poll(w->query, &done, &job, NULL) < 0) {
        question_drop(w);
    } else if (done) {
        w->answered = true;
        w->end = (double)job.end;
        question_drop(w);
    }
}

/* Ask, unless it has been asked just now. True: what is known is as good as it gets. */
static bool is_fresh(struct time_watch *w, const struct watch_view *view)
{
    if (!w->query && view->now - w->asked < FRESH_S)
        return true;
    question_ask(w, view);
    return false;
}

static int time_watch_create(const struct watch_view *view, void **state,
                             struct error *err)
{
    struct time_watch *w;

    if (view->spec->cfg->run_config.stop_before_end_s == 0 || !slurm_job_id())
        return 0;
    if (!(w = calloc(1, sizeof *w)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    question_ask(w, view);
    *state = w;
    return 0;
}

/* How long the workers may take to the next report: as long as lately, and at least as
 * long as the one that is under way has taken. */
static double report_time(const struct watch_view *view)
{
    double under_way = view->last_report > 0 ? view->now - view->last_report : 0;

    return fmax(report_pace_longest(&view->pace), under_way);
}

/*
 * A request is heard at the next report, and a training function that asks when to save
 * saves with the one after it: both may take that long. What is saved in the background
 * takes its time after that.
 */
static enum watch_verdict stop_tick(struct time_watch *w, const struct watch_view *view,
                                    struct watch_finding *finding)
{
    double now = view->unix_now;
    double ahead = view->spec->cfg->run_config.stop_before_end_s +
                   2 * report_time(view) + view->save_max_s;
    time_t end = (time_t)w->end;
    struct tm tm;
    char at[32] = "";

    if (!w->answered && view->now - w->asked > AGAIN_S)
        question_ask(w, view);
    if (w->end == 0 || now < w->end - ahead || !is_fresh(w, view))
        return WATCH_GOES_ON;
    if (localtime_r(&end, &tm))
        strftime(at, sizeof at, " at %H:%M:%S", &tm);
    finding->cause = CAUSE_TIME_LIMIT;
    snprintf(finding->message, sizeof finding->message,
             "the allocation ends%s, in %.0f s: stopping at the next report", at,
             w->end - now);
    return WATCH_STOP;
}

/* The workers were asked, for whatever reason: how long can that be waited for? A job
 * that is preempted ends earlier than it was to, so the end is asked for anew. */
static enum watch_verdict end_tick(struct time_watch *w, const struct watch_view *view,
                                   struct watch_finding *finding)
{
    double left = w->end - view->unix_now;

    if (!w->stopping)
        question_ask(w, view);
    w->stopping = true;
    if (w->query || w->end == 0)
        return WATCH_GOES_ON;
    if (w->last == 0)
        w->last = left / 2 < LAST_S ? left / 2 : LAST_S;
    if (left > w->last || !is_fresh(w, view))
        return WATCH_GOES_ON;
    finding->cause = CAUSE_TIME_LIMIT;
    snprintf(finding->message, sizeof finding->message,
             "the allocation ends in %.0f s: not waiting any longer for the next "
             "report; the latest checkpoint is what counts",
             left > 0 ? left : 0);
    return WATCH_END;
}

static enum watch_verdict time_watch_tick(void *state, const struct watch_view *view,
                                          struct watch_finding *finding)
{
    struct time_watch *w = state;

    answer_take(w);
    return view->stopping ? end_tick(w, view, finding) : stop_tick(w, view, finding);
}

static void time_watch_destroy(void *state)
{
    question_drop(state);
    free(state);
}

const struct watch_ops time_watch = {
    .name = "time",
    .create = time_watch_create,
    .tick = time_watch_tick,
    .destroy = time_watch_destroy,
};
