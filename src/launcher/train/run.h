/*
 * run.h - one run, as the parts of this room share it: what was asked for, where its
 * workers run, where its files are, and what it listens to. The trainer fills it; what
 * it points to stays the trainer's.
 */
#ifndef RAYTRAIN_TRAIN_RUN_H
#define RAYTRAIN_TRAIN_RUN_H

#include "callback/callback.h"
#include "run/run_lock.h"
#include "run/run_start.h"
#include "launch/attempt_plan.h"
#include "event/stop_request.h"
#include "event/event_loop.h"

struct run {
    const struct train_config *cfg;
    const struct options *opt;
    const struct launcher_ops *launcher;
    struct attempt_planner *planner;
    struct placement
        plan;     /* of the current attempt, and of the next one after a plan */
    bool calls_again; /* trainer.h */
    bool overlap; /* a step before the workers', or around this process, may hold what
                     they need: they share it */
    const char *dir;
    const char *config;        /* the text of cfg, which each attempt keeps */
    const char *marker;        /* worker_env.h */
    int64_t progress_before;   /* when this process began (attempt_record.h) */
    const struct run_lock *lock;
    struct run_start start; /* for the first attempt's record */
    struct callback_list *callbacks;
    struct stop_request stop; /* begins as STOP_REQUEST_INIT */
    struct event_loop *loop;  /* reads stop, and what callbacks add */
};

/* Ask the launcher what there is, and plan the first attempt. RAYTRAIN_EFIT /
 * RAYTRAIN_ENOTSUP, as launcher.h's resources. */
int run_plan(struct run *run, struct error *err);

/* From here on until run_close() no signal ends this process: a request to stop is an
 * event of run->loop. */
int run_open(struct run *run, struct error *err);
/* Frees the plans, too; a run that is zero but for borrowed pointers is fine. */
void run_close(struct run *run);

/* Turn the event loop for so many seconds. False: at once when a stop is asked for. */
bool run_wait(struct run *run, double seconds);

#endif
