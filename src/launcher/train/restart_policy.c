/* restart_policy.c - the counts of failures, and the decision. */
#include "train/restart_policy.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define SAME_MAX    3    /* failures of one kind at one iteration: a bug */
#define STARTS_MAX  3    /* in a row that did not come together: not counted */
#define IMMEDIATE_S 10.0 /* a failure within this time is immediate */
#define DELAY_MAX_S 60.0

void restart_policy_init(struct restart_policy *policy,
                         const struct failure_config *cfg, int64_t checkpoint)
{
    *policy = (struct restart_policy){.cfg = cfg, .checkpoint = checkpoint};
}

bool restart_policy_preempted(struct restart_policy *p, int n)
{
    p->preemptions += n;
    return p->cfg->max_preemptions < 0 || p->preemptions <= p->cfg->max_preemptions;
}

/* Would the training fail in the same way again, given the same input? */
static bool is_own_doing(const struct failure *f)
{
    switch (f->cause) {
    case CAUSE_OOM:
    case CAUSE_HANG:
        return true;
    case CAUSE_WORKER:
        return !f->never_started && f->signal != SIGKILL && f->signal != SIGTERM &&
               f->rank >= 0;
    case CAUSE_START:
    case CAUSE_NODE_LOST:
    case CAUSE_GPU:
    case CAUSE_TIME_LIMIT:
    case CAUSE_PREEMPTED:
    case CAUSE_RESIZE:
    case CAUSE_SIGNAL:
    case CAUSE_CALLBACK:
        break;
    }
    return false;
}

bool failure_recurs(const struct failure *failure)
{
    return failure->final || is_own_doing(failure);
}

static bool is_same(const struct restart_policy *p, const struct failed_attempt *a)
{
    const struct failure *f = a->failure;

    return f->cause == p->last.cause && f->signal == p->last.signal &&
           f->exit_status == p->last.exit_status && a->iteration == p->last.iteration;
}

/* Count this attempt. */
static void counts_follow(struct restart_policy *p, const struct failed_attempt *a)
{
    const struct failure *f = a->failure;
    bool progress = a->checkpoint > p->checkpoint;

    if (progress)
        p->checkpoint = a->checkpoint;
    if (progress && p->cfg->reset_on_progress)
        p->failures = 0;
    p->immediate = progress || a->seconds > IMMEDIATE_S ? 0 : p->immediate + 1;
    p->starts = f->cause == CAUSE_START ? p->starts + 1 : 0;
    if (!is_own_doing(f)) {
        p->same = 0;
        return;
    }
    p->same = p->same && is_same(p, a) ? p->same + 1 : 1;
    p->last.cause = f->cause;
    p->last.signal = f->signal;
    p->last.exit_status = f->exit_status;
    p->last.iteration = a->iteration;
}

/* The machine has no room for the workers, which may change in a moment. */
static bool is_refused(const struct failure *f)
{
    return f->cause == CAUSE_START && f->never_started;
}

/* 0, 1, 2, 4 ... */
static double delay(int immediate)
{
    double seconds = immediate < 2 ? 0 : 1;

    while (immediate-- > 2 && seconds < DELAY_MAX_S)
        seconds *= 2;
    return seconds < DELAY_MAX_S ? seconds : DELAY_MAX_S;
}

static void spend(struct restart_decision *d, int *used, int of)
{
    d->used = ++*used;
    d->of = of;
    d->restart = of < 0 || *used <= of;
}

struct restart_decision restart_policy_decide(struct restart_policy *p,
                                              const struct failed_attempt *a)
{
    const struct failure *f = a->failure;
    struct restart_decision d = {.of = -1};

    counts_follow(p, a);
    if (f->cause == CAUSE_RESIZE) {
        d.restart = true;
        return d;
    }
    if (f->final || p->cfg->fail_fast || f->cause == CAUSE_TIME_LIMIT)
        return d;
    if (f->cause == CAUSE_START && p->starts <= STARTS_MAX)
        d.restart = true;
    else if (f->cause == CAUSE_PREEMPTED)
        spend(&d, &p->preemptions, p->cfg->max_preemptions);
    else
        spend(&d, &p->failures, p->cfg->max_failures);
    if (d.restart && p->same >= SAME_MAX) {
        d.restart = false;
        snprintf(d.why, sizeof d.why,
                 "it has failed in this way %d times in a row after iteration %" PRId64
                 ": that is a bug, not bad luck",
                 p->same, a->iteration);
    }
    if (d.restart && f->cause != CAUSE_PREEMPTED)
        d.delay_s = delay(p->immediate + is_refused(f));
    return d;
}
