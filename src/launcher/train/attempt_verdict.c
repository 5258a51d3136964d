#include "train/attempt_verdict.h"

#include <signal.h>
#include <stdio.h>

static bool has_failed_worker(const struct launch_outcome *o)
{
    return o->rank >= 0 || o->signal != 0 || o->exit_status != 0;
}

void attempt_outcome_settle(struct launch_outcome *o, enum worker_end end, bool joined,
                            bool killed)
{
    if (end != WORKER_END_NONE && (!o->failed || killed || !has_failed_worker(o))) {
        *o = (struct launch_outcome){.rank = -1, .stopped = end == WORKER_END_STOPPED};
    } else if (end == WORKER_END_NONE && joined && !o->failed && !o->launch_failed) {
        *o = (struct launch_outcome){.failed = true, .rank = -1};
        snprintf(o->detail, sizeof o->detail,
                 "the workers ended without an error, but before the end of the "
                 "training: were they cancelled?");
    }
}

static bool is_stop_signal(int sig)
{
    return sig == SIGTERM || sig == LAUNCHER_STOP_SIGNAL;
}

/* By the signal that follows after the time of grace. */
static bool is_told_and_killed(const struct attempt_facts *f)
{
    return f->told > 0 && f->outcome->signal == SIGKILL && !f->outcome->oom;
}

/* Workers are also asked to stop past us: Slurm signals the step of a job that it
 * preempts, and so may an administrator. Then they stop, or, where they do not listen
 * yet, die of it, or do not come to it before they are killed. */
static bool is_stopped_past_us(const struct attempt_facts *f)
{
    return f->cause == CAUSE_WORKER && !f->ended &&
           (f->outcome->stopped || is_stop_signal(f->outcome->signal) ||
            is_told_and_killed(f));
}

/* A signal to us may be a preemption, too; not one that a terminal sends. */
static bool is_asked(const struct attempt_facts *f)
{
    return f->cause == CAUSE_SIGNAL && f->asked.signal != SIGINT &&
           f->asked.signal != SIGHUP;
}

/* Told to go were some of the workers, not all: it is not the job that makes room, but
 * nodes of it, which may be gone by now. */
static bool is_node_preempted(const struct attempt_facts *f)
{
    if (f->told == 0 || f->told == f->workers || f->job_preempted || f->job_ends ||
        f->stopping || f->asked.count)
        return false;
    if (f->ended)
        return f->cause == CAUSE_NODE_LOST;
    return is_stopped_past_us(f);
}

bool attempt_may_be_preempted(const struct attempt_facts *f)
{
    return is_asked(f) || is_stopped_past_us(f) || is_node_preempted(f) ||
           (f->ended && (f->cause == CAUSE_HANG || f->cause == CAUSE_START));
}

static enum attempt_cause cause_settle(const struct attempt_facts *f)
{
    const struct launch_outcome *o = f->outcome;

    if ((f->job_preempted && attempt_may_be_preempted(f)) || is_node_preempted(f))
        return CAUSE_PREEMPTED;
    if (is_stopped_past_us(f) && (o->stopped || is_told_and_killed(f) ||
                                  (o->signal == LAUNCHER_STOP_SIGNAL && !f->listening)))
        return CAUSE_SIGNAL;
    return f->cause;
}

/* What never came together has not trained, whatever its exit statuses say. */
static bool is_never_joined(const struct attempt_facts *f)
{
    return !f->joined && !f->listening && !f->ended && !f->outcome->failed &&
           !f->outcome->launch_failed && f->asked.count < 2;
}

/* A group that was asked to stop and then killed, or ended as a whole by the batch
 * system, was stopped, not broken; so was one whose job Slurm preempts. */
static enum run_status status_settle(const struct attempt_facts *f,
                                     enum attempt_cause cause)
{
    const struct launch_outcome *o = f->outcome;

    if (f->asked.count >= 2 || (f->asked.count && cause == CAUSE_NODE_LOST))
        return RUN_STOPPED;
    if (f->ended)
        return f->stopping || cause == CAUSE_PREEMPTED ? RUN_STOPPED : RUN_FAILED;
    if (f->stopping && o->failed &&
        (o->signal == SIGKILL || o->signal == SIGTERM ||
         (o->rank < 0 && (!o->launch_failed || o->passes))))
        return RUN_STOPPED;
    if (o->failed && (is_stop_signal(o->signal) || is_told_and_killed(f)) &&
        (cause == CAUSE_PREEMPTED || cause == CAUSE_SIGNAL))
        return RUN_STOPPED;
    if (o->failed || o->launch_failed || is_never_joined(f))
        return RUN_FAILED;
    return o->stopped ? RUN_STOPPED : RUN_FINISHED;
}

struct attempt_verdict attempt_judge(const struct attempt_facts *f)
{
    struct attempt_verdict v = {.cause = cause_settle(f),
                                .goes_on = is_node_preempted(f),
                                .never_joined = is_never_joined(f)};

    v.status = status_settle(f, v.cause);
    if (v.status == RUN_FAILED && !f->ended)
        v.cause = f->outcome->oom      ? CAUSE_OOM
                  : f->outcome->passes ? CAUSE_START
                                       : CAUSE_WORKER;
    return v;
}
