/*
 * backend_executor.h - runs the attempts of a run: starts a WorkerGroup, watches it,
 * restarts it by FailureConfig, and passes on its reports.
 *
 * It collects the workers' reports into RUN/result.json, and receives their events,
 * failures from the group's end, and stop requests from signals.
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
    /* why the last attempt failed, or was stopped; signal, of a stop: that raytrain-run
     * received */
    struct failure failure;
    struct failure_log log; /* of RUN_FAILED: of the worker to blame */
    bool by_node; /* of CAUSE_PREEMPTED: it was a worker's node, not the job */
    bool
        /* of CAUSE_PREEMPTED: max_preemptions do not allow to continue in this job */
        used_up;
    /* of RUN_STOPPED: as the call before, which was stopped as well, it has made no new
     * checkpoint, or part of a prediction */
    bool fruitless;
    int attempts; /* made by this call */
    char missing
        /* of RUN_STOPPED: which nodes are missing, and what does not fit without them;
         * "": a stop was requested */
        [ERROR_TEXT_MAX];
};

/*
 * Make attempts, numbered after the last one in the run directory, until one finishes,
 * a stop is requested, FailureConfig gives up, or too few nodes are left. A failed
 * training is an outcome, not an error; -1 means that the executor itself cannot
 * continue.
 */
int backend_executor_run(struct run *run, struct run_outcome *outcome,
                         struct error *err);

#endif
