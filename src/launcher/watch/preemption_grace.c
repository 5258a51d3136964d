/*
 * preemption_grace.c - when the job is preempted with a grace time, the workers are
 * asked to stop, with the time that they have.
 *
 * Slurm sends SIGTERM to the job's steps when the grace time begins, but to its batch
 * script, and so to this process, only at the end of that time. Rank 0 records the
 * signal. Then the batch system is asked whether it preempts the job: a signal may have
 * other reasons, and only some nodes may be concerned. The record stays, so the
 * question is repeated, at growing intervals.
 */
#include "watch/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GRACE_LOOK_S  1.0
#define GRACE_AGAIN_S 10.0  /* the pause, without an answer or after the first */
#define PAUSE_S 320.0 /* the longest: it doubles after each "not preempted" */

struct preemption_watch {
    const struct batch_ops *batch;
    struct batch_query *query; /* in progress */
    double next;               /* when to look next; clock_now() */
    double pause;              /* after the next answer */
};

static int preemption_create(const struct watch_view *view, void **state,
                             struct error *err)
{
    struct preemption_watch *w;

    if (!view->batch)
        return 0;
    if (!(w = calloc(1, sizeof *w)))
        return error_no_memory(err);
    w->batch = view->batch;
    w->next = view->now + GRACE_LOOK_S;
    w->pause = GRACE_AGAIN_S;
    *state = w;
    return 0;
}

static bool is_preempted(struct preemption_watch *w, const struct watch_view *view)
{
    struct batch_job job = {0};
    bool done = false;
    int rc = w->batch->query_poll(w->query, &done, &job, NULL);

    if (rc == 0 && !done)
        return false;
    w->batch->query_destroy(w->query);
    w->query = NULL;
    w->next = view->now + (rc == 0 ? w->pause : GRACE_AGAIN_S);
    if (rc == 0)
        w->pause = fmin(2 * w->pause, PAUSE_S);
    return rc == 0 && job.preempted;
}

static enum watch_verdict preemption_tick(void *state, const struct watch_view *view,
                                          struct failure *finding)
{
    struct preemption_watch *w = state;

    if (view->stopping)
        return WATCH_GOES_ON;
    if (!w->query) {
        if (view->now < w->next)
            return WATCH_GOES_ON;
        w->next = view->now + GRACE_LOOK_S;
        if (rank_status_first_wrote(view->log_dir, RANK_STATUS_SIGTERM) &&
            w->batch->query_start(&w->query, NULL) < 0)
            w->next = view->now + GRACE_AGAIN_S;
        return WATCH_GOES_ON;
    }
    if (!is_preempted(w, view))
        return WATCH_GOES_ON;
    finding->cause = CAUSE_PREEMPTED;
    snprintf(finding->message, sizeof finding->message,
             "the job is being preempted: stopping at the next report");
    return WATCH_STOP;
}

static void preemption_destroy(void *state)
{
    struct preemption_watch *w = state;

    w->batch->query_destroy(w->query);
    free(w);
}

const struct watch_ops preemption_watch = {.name = "preemption",
                                           .create = preemption_create,
                                           .tick = preemption_tick,
                                           .destroy = preemption_destroy};
