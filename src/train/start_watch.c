#include "train/start_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/train_config.h"
#include "config/worker_env.h"
#include "train/hang_watch.h"

struct start_watch {
    double timeout;
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
    *state = w;
    return 0;
}

static enum watch_verdict start_tick(void *state, const struct watch_view *view,
                                     struct watch_finding *finding)
{
    struct start_watch *w = state;

    if (view->joined || view->now - view->started < w->timeout)
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
