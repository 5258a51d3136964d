/*
 * run.h - one run, as shared by the parts of this folder: its configuration, the nodes
 * of its workers, its files, and its event loop. The trainer fills it, and owns what it
 * points to.
 */
#ifndef RAYTRAIN_TRAIN_RUN_H
#define RAYTRAIN_TRAIN_RUN_H

#include "callback/callback.h"
#include "run/run_lock.h"
#include "run/run_start.h"
#include "launch/attempt_plan.h"
#include "event/stop_request.h"
#include "event/event_loop.h"
#include "train/kept_group.h"

struct run {
    const struct train_config *cfg;
    const struct options *opt;
    const struct launcher_ops *launcher;
    struct attempt_planner *planner;
    struct placement plan; /* of the current attempt; after planning, of the next one */
    bool calls_again; /* trainer.h */
    /* an earlier step, or the one around this process, may hold resources that the
     * workers need: they share them */
    bool overlap;
    const char *dir;
    const char *config;        /* the text of cfg, which each attempt keeps */
    const char *marker;        /* worker_env.h */
    int64_t progress_before;   /* when this process began (attempt_record.h) */
    const struct run_lock *lock;
    struct run_start start; /* for the first attempt's record */
    struct callback_list *callbacks;
    struct stop_request stop; /* begins as STOP_REQUEST_INIT */
    struct event_loop *loop;  /* reads stop, and what callbacks add */
    struct kept_group kept;   /* between two attempts */
};

/* Ask the launcher for resources, and plan the first attempt. RAYTRAIN_EFIT and
 * RAYTRAIN_ENOTSUP as in resources() of launcher.h. */
int run_plan(struct run *run, struct error *err);

/* Until run_close(), signals do not end this process: a request to stop is an event of
 * run->loop. */
int run_open(struct run *run, struct error *err);
/* Also frees the plans; a run that is zero except for borrowed pointers is fine. */
void run_close(struct run *run);

/* Run the event loop for `seconds`. False, at once, when a stop is requested. */
bool run_wait(struct run *run, double seconds);

#endif
