/*
 * attempt_verdict.h - decides how an attempt has ended, and why: a pure function of the
 * launcher's outcome, the findings of the observers, the requests to stop, and the
 * state of the job.
 */
#ifndef RAYTRAIN_TRAIN_ATTEMPT_VERDICT_H
#define RAYTRAIN_TRAIN_ATTEMPT_VERDICT_H

#include "protocol/worker_record.h"
#include "event/stop_request.h"
#include "watch/watch.h"

enum run_status { RUN_FINISHED, RUN_STOPPED, RUN_FAILED };

/* The name in results: "finished", "stopped", "failed". */
const char *run_status_name(enum run_status status);

struct attempt_facts {
    const struct launch_outcome *outcome;
    struct stop_request asked; /* what raytrain-run received */
    bool stopping;             /* the workers were asked to stop */
    bool listening;            /* and had all started, so that they handle the signal */
    bool joined;               /* they have come together */
    bool ended;                /* an observer has ended the group */
    enum attempt_cause cause;  /* its reason; CAUSE_WORKER: none */
    int workers;               /* all of them */
    int terminated; /* those that received a SIGTERM not sent by raytrain-run */
    /* The state of the job, if the batch system was asked: */
    bool job_preempted, job_ends;
};

struct attempt_verdict {
    enum run_status status;
    enum attempt_cause cause;
    /* stopped because the node of a worker was preempted, but not the job */
    bool goes_on;
    bool never_joined; /* all ended with good statuses, but before the training began */
};

/*
 * Correct the launcher's outcome, which it has from statuses and messages, by the
 * workers' own record of their end (protocol/worker_record.h). With a record, all ranks
 * have reached the end together, whatever happened to srun or a node afterwards; only a
 * later failure of a worker itself counts, unless we killed it. Without a record, a
 * training that had begun has not reached its end, whatever the statuses.
 */
void attempt_outcome_settle(struct launch_outcome *outcome, enum worker_end end,
                            bool joined, bool killed);

/* Does the verdict depend on the state of the job? Then ask the batch system first. */
bool attempt_may_be_preempted(const struct attempt_facts *facts);
struct attempt_verdict attempt_judge(const struct attempt_facts *facts);

#endif
