#include "watch/start.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/train_config.h"
#include "launch/worker_log.h"
#include "protocol/worker_env.h"
#include "watch/hang.h"

#define RUNNING_MAX_S 600.0 /* after so long they count as running, whatever is seen */

struct start_watch {
    double timeout;
    size_t nodes; /* the first ones, on which workers run; they are the first */
    int ranks;
    double running; /* when the workers of all nodes were seen to; 0: not yet */
    double asked; /* when the workers were asked for their stacks; 0: not yet */
};

static int start_create(const struct watch_view *view, void **state, struct error *err)
{
    int timeout = view->spec->cfg->run_config.failure_config.start_timeout_s;
    struct start_watch *w;

    if (timeout == 0)
        return 0;
    w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    w->timeout = timeout;
    /* On this machine itself nothing comes before the workers, as a prolog does. */
    if (!view->spec->launcher->ask)
        w->running = view->started;
    *state = w;
    return 0;
}

static bool has_log(const struct watch_view *view, const char *node, int rank)
{
    char stem[WORKER_LOG_STEM_MAX], path[PATH_MAX];
    int n;

    worker_log_stem(view->spec->plan->workers, rank, node, stem);
    n = snprintf(path, sizeof path, "%s/%s.out", view->log_dir, stem);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

static void running_look(struct start_watch *w, const struct watch_view *view)
{
    const struct placement *plan = view->spec->plan;

    for (; w->nodes < plan->n_nodes; w->nodes++) {
        if (!has_log(view, plan->nodes[w->nodes].name, w->ranks))
            break;
        w->ranks += plan->nodes[w->nodes].tasks;
    }
    if (w->nodes == plan->n_nodes || view->now - view->started > RUNNING_MAX_S)
        w->running = view->now;
}

/* What runs already tries to reach the others, with growing pauses: when the last ones
 * run, a pause may be as long as all the time before. */
static double join_end(const struct start_watch *w, const struct watch_view *view)
{
    return w->running + (w->running - view->started) + w->timeout;
}

static enum watch_verdict start_tick(void *state, const struct watch_view *view,
                                     struct watch_finding *finding)
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
        worker_group_signal(view->group, WORKER_STACK_SIGNAL, NULL);
    }
    if (view->now - w->asked < HANG_ANSWER_S)
        return WATCH_GOES_ON;
    finding->cause = CAUSE_START;
    snprintf(finding->message, sizeof finding->message,
             "the workers have not come together within %.0f s "
             "(failure_config.start_timeout_s); the stacks are in the logs",
             w->timeout);
    return WATCH_END;
}

const struct watch_ops start_watch = {
    .name = "start", .create = start_create, .tick = start_tick, .destroy = free};
