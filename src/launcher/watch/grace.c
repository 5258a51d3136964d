#include "watch/grace.h"

#include <stdio.h>
#include <stdlib.h>

struct grace_watch {
    double asked; /* when the workers were asked to stop; 0: not yet */
};

static int grace_watch_create(const struct watch_view *view, void **state,
                              struct error *err)
{
    if (view->spec->cfg->run_config.grace_s == 0)
        return 0;
    if (!(*state = calloc(1, sizeof(struct grace_watch))))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

static enum watch_verdict grace_watch_tick(void *state, const struct watch_view *view,
                                           struct watch_finding *finding)
{
    struct grace_watch *w = state;
    int grace_s = view->spec->cfg->run_config.grace_s;

    if (!view->stopping)
        return WATCH_GOES_ON;
    if (w->asked == 0)
        w->asked = view->now;
    if (view->now - w->asked < grace_s)
        return WATCH_GOES_ON;
    snprintf(finding->message, sizeof finding->message,
             "the workers have not stopped within %d s (run_config.grace_s): ending "
             "them; the latest checkpoint is what counts",
             grace_s);
    return WATCH_END;
}

const struct watch_ops grace_watch = {
    .name = "grace",
    .create = grace_watch_create,
    .tick = grace_watch_tick,
    .destroy = free,
};
