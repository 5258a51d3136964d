/*
 * resize.c - asks an elastic group to stop at its next checkpoint when nodes have come
 * back, so that a larger group takes over.
 */
#include "watch/watch.h"

#include <stdio.h>
#include <stdlib.h>

struct resize_watch {
    double every_s, next; /* when to look next; clock_now() */
    bool asked;
};

static int resize_create(const struct watch_view *view, void **state, struct error *err)
{
    const struct scaling_config *scaling = &view->cfg->scaling_config;
    struct resize_watch *w;

    if (!scaling_config_is_elastic(scaling) ||
        scaling->elastic_resize_monitor_interval_s == 0 ||
        view->plan->workers >= scaling->max_workers)
        return 0;
    w = calloc(1, sizeof *w);
    if (!w)
        return error_no_memory(err);
    w->every_s = scaling->elastic_resize_monitor_interval_s;
    w->next = view->now + w->every_s;
    *state = w;
    return 0;
}

static enum watch_verdict resize_tick(void *state, const struct watch_view *view,
                                      struct failure *finding)
{
    struct resize_watch *w = state;

    if (w->asked || view->stopping || view->now < w->next)
        return WATCH_GOES_ON;
    w->next = view->now + w->every_s;
    if (attempt_planner_refresh(view->planner, NULL) < 0)
        return WATCH_GOES_ON; /* look again the next time */
    if (!attempt_planner_can_grow(view->planner, view->plan->workers))
        return WATCH_GOES_ON;
    w->asked = true;
    finding->cause = CAUSE_RESIZE;
    snprintf(
        finding->message, sizeof finding->message,
        "there is room for more than %d worker%s: stopping at the next checkpoint, "
        "to continue with more",
        view->plan->workers, view->plan->workers == 1 ? "" : "s");
    return WATCH_STOP;
}

const struct watch_ops resize_watch = {
    .name = "resize", .create = resize_create, .tick = resize_tick, .destroy = free};
