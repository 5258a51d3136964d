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
#include "train/failure.h"
#include "train/worker_group.h"
#include "watch/watch.h"

struct run_outcome {
    enum run_status status;
    enum attempt_cause cause; /* why the last attempt failed or was stopped */
    int signal;               /* that asked raytrain-run to stop; 0: none did */
    bool by_node; /* of CAUSE_PREEMPTED: it was a worker's node, not the job */
    int attempts; /* made by this call */
    struct failure failure;       /* of RUN_FAILED: the last attempt's */
    char missing[ERROR_TEXT_MAX]; /* of RUN_STOPPED: which nodes, so that what does not
                                     fit; "": it was asked to stop */
};

/* The name in results: "finished", "stopped", "failed". */
const char *run_status_name(enum run_status status);

/*
 * Run attempts, from spec->attempt on, until one finishes, a stop was asked for, or
 * FailureConfig gives up, or too few nodes are left. A failed training is an outcome,
 * not an error; -1 is for what keeps the executor itself from going on.
 */
int backend_executor_run(const struct worker_group_spec *spec,
                         struct callback_list *callbacks, struct run_outcome *outcome,
                         struct error *err);

#endif
