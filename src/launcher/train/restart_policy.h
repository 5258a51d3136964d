/*
 * restart_policy.h - FailureConfig's answer to a failed attempt: once more, and after
 * which delay, or give up, and why. It has no clock and touches no file.
 *
 *   failure     what a worker, a hang or a lost node is. max_failures are allowed in a
 *               row; a newly published checkpoint starts the count afresh, unless
 *               reset_on_progress is off.
 *   preemption  counts against max_preemptions alone.
 *   resize      is nobody's fault, and counts as nothing.
 *   start       where the workers did not come together, or there was no room for their
 *               processes, is bad luck, and counts as nothing; from the fourth time in a
 *               row on it is a failure.
 *   time limit  there is no time for another attempt.
 *
 * Who fails three times in a row in the same way, at the same iteration, will do so
 * again: the run ends whatever the budget says. What comes from outside does not count
 * for this: a SIGKILL or SIGTERM that is no lack of memory, a lost node, workers that
 * could not be started.
 *
 * The first restart is at once. Attempts that then end within seconds, and without
 * progress, wait 1, 2, 4 ... 60 s; so does the first one after workers that could not be
 * started.
 */
#ifndef RAYTRAIN_TRAIN_RESTART_POLICY_H
#define RAYTRAIN_TRAIN_RESTART_POLICY_H

#include <stdint.h>

#include "config/failure_config.h"
#include "watch/watch.h"

/* A failed attempt, as far as it matters here. */
struct failed_attempt {
    enum attempt_cause cause;
    bool final;         /* no retry can help */
    bool never_started; /* the workers could not be started */
    int rank;           /* the first worker that failed; -1: unknown */
    int signal;         /* that killed it, or 0 */
    int exit_status;    /* of it, or 0 */
    double seconds;     /* that it took */
    int64_t checkpoint; /* the newest published when it had ended; -1: none */
    int64_t iteration;  /* the last one reported, or the one that it went on from */
};

struct restart_policy {
    const struct failure_config *cfg;
    int failures;       /* in a row */
    int preemptions;    /* of the run */
    int immediate;      /* in a row */
    int same;           /* in a row */
    int starts;         /* in a row that did not come together */
    int64_t checkpoint; /* the newest published at the last restart; -1: none */
    struct failed_attempt last;
};

struct restart_decision {
    bool restart;
    double delay_s; /* before the restart */
    int used, of;   /* of the budget that this one counts against; of < 0: no limit,
                       used 0: it counts against none */
    char
        why[160]; /* of giving up, where more is to be said than the failure; else "" */
};

/* cfg must outlive it; checkpoint is the newest published, -1: none. */
void restart_policy_init(struct restart_policy *policy,
                         const struct failure_config *cfg, int64_t checkpoint);
struct restart_decision restart_policy_decide(struct restart_policy *policy,
                                              const struct failed_attempt *attempt);

#endif
