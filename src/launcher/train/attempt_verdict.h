/*
 * attempt_verdict.h - how an attempt has ended, and why: a pure judgement of what the
 * launcher tells of the group, what the watches have found, what raytrain-run was asked
 * for, and what Slurm says of the job.
 */
#ifndef RAYTRAIN_TRAIN_ATTEMPT_VERDICT_H
#define RAYTRAIN_TRAIN_ATTEMPT_VERDICT_H

#include "protocol/worker_record.h"
#include "watch/watch.h"

enum run_status { RUN_FINISHED, RUN_STOPPED, RUN_FAILED };

struct attempt_facts {
    const struct launch_outcome *outcome;
    struct stop_request asked; /* of raytrain-run */
    bool stopping;             /* the workers were asked to stop */
    bool listening;            /* and could hear it */
    bool joined;               /* they have come together */
    bool ended;                /* a watch has ended the group */
    enum attempt_cause cause;  /* for which; CAUSE_WORKER: for none */
    int workers, told;         /* so many of them were told to go, past us */
    /* What Slurm says of the job, if it is asked: */
    bool job_preempted, job_ends;
};

struct attempt_verdict {
    enum run_status status;
    enum attempt_cause cause;
    bool goes_on; /* stopped, since a worker's node is preempted, but not the run */
    bool never_joined; /* all left with good statuses, but no training has begun */
};

/*
 * The workers' own record of their end (protocol/worker_record.h) against what the
 * launcher makes of statuses and words. With a record all ranks have come to the end
 * together, whatever has become of srun, or of a node, since; only a worker that has
 * failed by itself afterwards spoils it, unless it was killed by us. Without one, what
 * began to train has not come to its end, whatever the statuses.
 */
void attempt_outcome_settle(struct launch_outcome *outcome, enum worker_end end,
                            bool joined, bool killed);

/* Does it matter what becomes of the job? Then Slurm is to be asked. */
bool attempt_may_be_preempted(const struct attempt_facts *facts);
struct attempt_verdict attempt_judge(const struct attempt_facts *facts);

#endif
