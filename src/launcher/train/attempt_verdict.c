/* attempt_verdict.c - the cases, from requests to stop and signals to the job's
 * preemption. */
#include "train/attempt_verdict.h"

#include <signal.h>
#include <stdio.h>

#include "protocol/worker_env.h"

const char *run_status_name(enum run_status status)
{
    static const char *const names[] = {"finished", "stopped", "failed"};

    return names[status];
}

static bool has_failed_worker(const struct launch_outcome *o)
{
    return o->failure.rank >= 0 || o->failure.signal != 0 ||
           o->failure.exit_status != 0;
}

void attempt_outcome_settle(struct launch_outcome *o, enum worker_end end, bool joined,
                            bool killed)
{
    if (end != WORKER_END_NONE && (!o->failed || killed || !has_failed_worker(o))) {
        *o = (struct launch_outcome){.stopped = end == WORKER_END_STOPPED,
                                     .failure = {.rank = -1}};
    } else if (end == WORKER_END_NONE && joined && !o->failed &&
               !o->failure.never_started) {
        *o = (struct launch_outcome){.failed = true, .failure = {.rank = -1}};
        snprintf(o->failure.message, sizeof o->failure.message,
                 "the workers ended without an error, but before the end of the "
                 "training: were they cancelled?");
    }
}

static bool is_stop_signal(int sig)
{
    return sig == SIGTERM || sig == WORKER_STOP_SIGNAL;
}

/* SIGKILL follows SIGTERM at the end of the grace time. */
static bool is_terminated_and_killed(const struct attempt_facts *f)
{
    return f->terminated > 0 && f->outcome->failure.signal == SIGKILL &&
           f->outcome->failure.cause != CAUSE_OOM;
}

/* Workers may receive a request to stop that did not come from us: from Slurm, which
 * signals the step of a job that it preempts, or from an administrator. Then they stop,
 * or die of the signal if they have not started yet, or are killed before they have
 * stopped. */
static bool is_stopped_past_us(const struct attempt_facts *f)
{
    return f->cause == CAUSE_WORKER && !f->ended &&
           (f->outcome->stopped || is_stop_signal(f->outcome->failure.signal) ||
            is_terminated_and_killed(f));
}

/* A signal to raytrain-run may also be a preemption, unless it came from a terminal. */
static bool is_asked(const struct attempt_facts *f)
{
    return f->cause == CAUSE_SIGNAL && f->asked.signal != SIGINT &&
           f->asked.signal != SIGHUP;
}

/* Some workers received SIGTERM, but not all: the job is not preempted, but some of its
 * nodes are, which may be gone by now. */
static bool is_node_preempted(const struct attempt_facts *f)
{
    if (f->terminated == 0 || f->terminated == f->workers || f->job_preempted ||
        f->job_ends || f->stopping || f->asked.count)
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
    if (is_stopped_past_us(f) &&
        (o->stopped || is_terminated_and_killed(f) ||
         (o->failure.signal == WORKER_STOP_SIGNAL && !f->listening)))
        return CAUSE_SIGNAL;
    return f->cause;
}

/* Workers that never came together have not trained, whatever their exit statuses. */
static bool is_never_joined(const struct attempt_facts *f)
{
    return !f->joined && !f->listening && !f->ended && !f->outcome->failed &&
           !f->outcome->failure.never_started && !f->asked.hurried;
}

/* A group that was asked to stop and then killed, or that the batch system ended as a
 * whole, counts as stopped, not as failed; so does one whose job Slurm preempts. */
static enum run_status status_settle(const struct attempt_facts *f,
                                     enum attempt_cause cause)
{
    const struct launch_outcome *o = f->outcome;

    if (f->asked.hurried || (f->asked.count && cause == CAUSE_NODE_LOST))
        return RUN_STOPPED;
    if (f->ended)
        return f->stopping || cause == CAUSE_PREEMPTED ? RUN_STOPPED : RUN_FAILED;
    if (f->stopping && o->failed &&
        (o->failure.signal == SIGKILL || o->failure.signal == SIGTERM ||
         (o->failure.rank < 0 && (!o->failure.never_started || o->passes))))
        return RUN_STOPPED;
    if (o->failed &&
        (is_stop_signal(o->failure.signal) || is_terminated_and_killed(f)) &&
        (cause == CAUSE_PREEMPTED || cause == CAUSE_SIGNAL))
        return RUN_STOPPED;
    if (o->failed || o->failure.never_started || is_never_joined(f))
        return RUN_FAILED;
    return o->stopped ? RUN_STOPPED : RUN_FINISHED;
}

struct attempt_verdict attempt_judge(const struct attempt_facts *f)
{
    struct attempt_verdict v = {.cause = cause_settle(f),
                                .goes_on = is_node_preempted(f),
                                .never_joined = is_never_joined(f)};

    v.status = status_settle(f, v.cause);
    /* Workers that were ended for that have not failed. */
    if (f->cause == CAUSE_CALLBACK && v.status != RUN_FINISHED) {
        v.status = RUN_FAILED;
        return v;
    }
    if (v.status == RUN_FAILED && !f->ended)
        v.cause = f->outcome->failure.cause == CAUSE_OOM ? CAUSE_OOM
                  : f->outcome->passes                   ? CAUSE_START
                                                         : CAUSE_WORKER;
    return v;
}
