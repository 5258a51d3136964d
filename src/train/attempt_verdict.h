/*
 * attempt_verdict.h - how an attempt has ended, and why: a pure judgement of what the
 * launcher tells of the group, what the watches have found, what raytrain-run was asked
 * for, and what Slurm says of the job.
 */
#ifndef RAYTRAIN_TRAIN_ATTEMPT_VERDICT_H
#define RAYTRAIN_TRAIN_ATTEMPT_VERDICT_H

#include "train/watch.h"

enum run_status { RUN_FINISHED, RUN_STOPPED, RUN_FAILED };

struct attempt_facts {
    const struct launch_outcome *outcome;
    struct stop_request asked; /* of raytrain-run */
    bool stopping;             /* the workers were asked to stop */
    bool listening;            /* and could hear it */
    bool ended;                /* a watch has ended the group */
    enum attempt_cause
        cause;          /* for which it was stopped or ended; CAUSE_WORKER: none */
    bool job_preempted; /* see below */
};

struct attempt_verdict {
    enum run_status status;
    enum attempt_cause cause;
};

/* Does it matter whether Slurm preempts the job? Then it is to be asked. */
bool attempt_may_be_preempted(const struct attempt_facts *facts);
struct attempt_verdict attempt_judge(const struct attempt_facts *facts);

#endif
