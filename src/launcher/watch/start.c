/*
 * start.c - detects workers that do not come together at the start of an attempt.
 *
 * They wait for each other in PMIx and in MPI, which report neither a worker that never
 * arrives nor a message that was lost. So a group that has not come together within
 * start_timeout_s is asked for its stacks, which go into the logs, and is then killed
 * and started again.
 *
 * That time begins when workers run on all nodes, which their logs show: before that
 * Slurm may run a prolog on some node for minutes.
 */
#include "watch/watch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "protocol/worker_env.h"
#include "run/run_dir.h"

#define RUNNING_MAX_S                                                                  \
    600.0 /* after this they count as running, whatever the logs show */

struct start_watch {
    double timeout;
    size_t nodes; /* workers run on the first `nodes` of them: */
    int ranks;
    double running; /* when workers were seen to run on all nodes; 0: not yet */
    double asked;   /* when the workers were asked for their stacks; 0: not yet */
};

static int start_create(const struct watch_view *view, void **state, struct error *err)
{
    int timeout = view->cfg->run_config.failure_config.start_timeout_s;
    struct start_watch *w;

    if (timeout == 0)
        return 0;
    w = calloc(1, sizeof *w);
    if (!w)
        return error_no_memory(err);
    w->timeout = timeout;
    /* On this machine itself nothing, such as a prolog, runs before the workers. */
    if (!view->launcher->ask)
        w->running = view->started;
    *state = w;
    return 0;
}

static bool has_log(const struct watch_view *view, const char *node, int rank)
{
    char stem[RUN_DIR_LOG_NAME_MAX], path[PATH_MAX];
    int n;

    run_dir_log_name(view->plan->workers, rank, node, stem);
    n = snprintf(path, sizeof path, "%s/%s.out", view->log_dir, stem);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

static void running_look(struct start_watch *w, const struct watch_view *view)
{
    const struct placement *plan = view->plan;

    for (; w->nodes < plan->n_nodes; w->nodes++) {
        if (!has_log(view, plan->nodes[w->nodes].name, w->ranks))
            break;
        w->ranks += plan->nodes[w->nodes].tasks;
    }
    if (w->nodes == plan->n_nodes || view->now - view->started > RUNNING_MAX_S)
        w->running = view->now;
}

/* Running workers try to reach the others at growing intervals: when the last ones
 * start, an interval may be as long as all the time before. */
static double join_end(const struct start_watch *w, const struct watch_view *view)
{
    return w->running + (w->running - view->started) + w->timeout;
}

static enum watch_verdict start_tick(void *state, const struct watch_view *view,
                                     struct failure *finding)
{
    struct start_watch *w = state;

    if (view->joined)
        return WATCH_GOES_ON;
    if (w->running == 0)
        running_look(w, view);
    if (w->running == 0 || view->now < join_end(w, view))
        return WATCH_GOES_ON;
    if (w->asked == 0) {
        w->asked = view->now;
        view->signal(view->group, WORKER_STACK_SIGNAL, NULL);
    }
    if (view->now - w->asked < STACK_ANSWER_S)
        return WATCH_GOES_ON;
    finding->cause = CAUSE_START;
    snprintf(finding->message, sizeof finding->message,
             "the workers have not come together within %.0f s "
             "(failure_config.start_timeout_s); their stacks are in the logs",
             w->timeout);
    return WATCH_END;
}

const struct watch_ops start_watch = {
    .name = "start", .create = start_create, .tick = start_tick, .destroy = free};
