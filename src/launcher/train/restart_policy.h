/*
 * restart_policy.h - FailureConfig's answer to a failed attempt: restart, after which
 * delay, or give up, and why. It does not use a clock or files.
 *
 *   failure     of a worker, a hang, or a lost node: max_failures are allowed in a row;
 *               a newly published checkpoint resets the count, unless
 *               reset_on_progress is off.
 *   preemption  counts against max_preemptions only; so do those of the job, after
 *               which Slurm may requeue it.
 *   resize      does not count.
 *   start       the workers did not come together, or there was no room for their
 *               processes: does not count, but from the fourth time in a row it is a
 *               failure.
 *   time limit  there is no time for another attempt.
 *
 * A training that fails three times in a row in the same way, at the same iteration,
 * would fail again: the run ends whatever the budget says. External causes do not count
 * for this: a SIGKILL or SIGTERM other than for lack of memory, a lost node, workers
 * that could not be started.
 *
 * The first restart is immediate. If attempts then end within seconds and without
 * progress, the delay is 1, 2, 4 ... 60 s; it begins with the first restart if the
 * workers could not be started.
 */
#ifndef RAYTRAIN_TRAIN_RESTART_POLICY_H
#define RAYTRAIN_TRAIN_RESTART_POLICY_H

#include <stdint.h>

#include "config/failure_config.h"
#include "protocol/failure.h"

struct failed_attempt {
    const struct failure *failure;
    double seconds;     /* its duration */
    int64_t checkpoint; /* the newest published at its end; -1: none */
    int64_t iteration;  /* the last one reported, or the one where it started */
};

struct restart_policy {
    const struct failure_config *cfg;
    int failures;       /* in a row */
    int preemptions;    /* of the run */
    int immediate;      /* in a row */
    int same;           /* in a row */
    int starts;         /* in a row that did not come together */
    int64_t checkpoint; /* the newest published at the last restart; -1: none */
    struct {            /* the last failure caused by the training itself */
        enum attempt_cause cause;
        int signal, exit_status;
        int64_t iteration;
    } last;
};

struct restart_decision {
    bool restart;
    double delay_s; /* before the restart */
    /* of the budget that this failure counts against; of < 0: no limit; used 0: it is
     * not counted */
    int used, of;
    char why[160]; /* why it gives up, if the failure does not show that; else "" */
};

/* cfg must outlive it; checkpoint is the newest published, -1: none. */
void restart_policy_init(struct restart_policy *policy,
                         const struct failure_config *cfg, int64_t checkpoint);
/* Also count n preemptions of the job. False: there are more than FailureConfig
 * allows. */
bool restart_policy_preempted(struct restart_policy *policy, int n);
/* Would the same training, given the same input, fail in this way again? */
bool failure_recurs(const struct failure *failure);
struct restart_decision restart_policy_decide(struct restart_policy *policy,
                                              const struct failed_attempt *attempt);

#endif
