/*
 * backend_executor.h - runs the attempts of a run: starts a WorkerGroup, watches it,
 * restarts it by FailureConfig, passes on what it hears.
 *
 * It collects the workers' reports into RUN/result.json and hears of their events, of
 * failures from the group's end, and of stop requests from signals.
 */
#ifndef RAYTRAIN_TRAIN_BACKEND_EXECUTOR_H
#define RAYTRAIN_TRAIN_BACKEND_EXECUTOR_H

#include "callback/callback.h"
#include "train/attempt_verdict.h"
#include "train/failure_diagnosis.h"
#include "train/run.h"
#include "watch/watch.h"

struct run_outcome {
    enum run_status status;
    struct failure failure; /* why the last attempt failed, or was stopped; signal, of a
                               stop: that raytrain-run received */
    struct failure_log log; /* of RUN_FAILED: of the worker to blame */
    bool by_node; /* of CAUSE_PREEMPTED: it was a worker's node, not the job */
    bool
        used_up; /* of CAUSE_PREEMPTED: max_preemptions do not allow to go on in this job */
    bool fruitless; /* of RUN_STOPPED: as the call before, which was stopped as well, it
                       has made no new checkpoint, or part of a prediction */
    int attempts; /* made by this call */
    char missing
        [ERROR_TEXT_MAX]; /* of RUN_STOPPED: which nodes are missing, and what does
                                     not fit without them; "": a stop was requested */
};

/*
 * Make attempts, the first one after the last that the run directory has, until one
 * finishes, a stop was asked for, FailureConfig gives up, or too few nodes are left. A
 * failed training is an outcome, not an error; -1 is for what keeps the executor itself
 * from going on.
 */
int backend_executor_run(struct run *run, struct run_outcome *outcome,
                         struct error *err);

#endif
