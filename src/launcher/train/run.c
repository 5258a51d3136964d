/* run.c - opens and closes a run: its plan, its signals, and its event loop. */
#include "train/run.h"

#include "launch/batch_system.h"
#include "util/clock.h"

static int on_stop_signal(void *stop, struct error *err)
{
    (void)err;
    stop_request_read(stop);
    return 0;
}

int run_plan(struct run *run, struct error *err)
{
    const struct scaling_config *scaling = &run->cfg->scaling_config;

    if (attempt_planner_create(run->launcher, scaling, &run->planner, err) < 0)
        return -1;
    return attempt_planner_plan(run->planner, &run->plan, err);
}

int run_open(struct run *run, struct error *err)
{
    run->stop.in_job = batch_find() != NULL;
    if (stop_request_open(&run->stop, err) < 0 ||
        event_loop_create(&run->loop, err) < 0)
        return -1;
    return event_loop_add(run->loop, run->stop.fd, on_stop_signal, &run->stop, err);
}

void run_close(struct run *run)
{
    kept_group_clear(&run->kept);
    event_loop_destroy(run->loop);
    run_start_clear(&run->start);
    stop_request_close(&run->stop);
    placement_clear(&run->plan);
    attempt_planner_destroy(run->planner);
}

bool run_wait(struct run *run, double seconds)
{
    double until = clock_now() + seconds, left;

    while (!run->stop.count && (left = until - clock_now()) > 0)
        if (event_loop_turn(run->loop, left, NULL) < 0)
            break;
    return !run->stop.count;
}
