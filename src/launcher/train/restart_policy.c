/* restart_policy.c - see restart_policy.h. */
#include "train/restart_policy.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define SAME_MAX    3    /* failures of one kind at one iteration that are a bug */
#define STARTS_MAX  3    /* in a row that did not come together, and count as nothing */
#define IMMEDIATE_S 10.0 /* what fails within this time failed at once */
#define DELAY_MAX_S 60.0

void restart_policy_init(struct restart_policy *policy,
                         const struct failure_config *cfg, int64_t checkpoint)
{
    *policy = (struct restart_policy){.cfg = cfg, .checkpoint = checkpoint};
}

/* Is this something that the training itself does, given the same input? */
static bool is_own_doing(const struct failed_attempt *a)
{
    switch (a->cause) {
    case CAUSE_OOM:
    case CAUSE_HANG:
        return true;
    case CAUSE_WORKER:
        return !a->never_started && a->signal != SIGKILL && a->signal != SIGTERM &&
               a->rank >= 0;
    case CAUSE_START:
    case CAUSE_NODE_LOST:
    case CAUSE_TIME_LIMIT:
    case CAUSE_PREEMPTED:
    case CAUSE_RESIZE:
    case CAUSE_SIGNAL:
        break;
    }
    return false;
}

static bool is_same(const struct failed_attempt *a, const struct failed_attempt *b)
{
    return a->cause == b->cause && a->signal == b->signal &&
           a->exit_status == b->exit_status && a->iteration == b->iteration;
}

/* Bring the counts of what has come in a row up to this attempt. */
static void counts_follow(struct restart_policy *p, const struct failed_attempt *a)
{
    bool progress = a->checkpoint > p->checkpoint;

    if (progress)
        p->checkpoint = a->checkpoint;
    if (progress && p->cfg->reset_on_progress)
        p->failures = 0;
    p->immediate = progress || a->seconds > IMMEDIATE_S ? 0 : p->immediate + 1;
    p->starts = a->cause == CAUSE_START ? p->starts + 1 : 0;
    if (!is_own_doing(a))
        p->same = 0;
    else
        p->same = p->same && is_same(a, &p->last) ? p->same + 1 : 1;
    p->last = *a;
}

/* The machine has no room for the workers: that takes a moment to pass. */
static bool is_refused(const struct failed_attempt *a)
{
    return a->cause == CAUSE_START && a->never_started;
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
    struct restart_decision d = {.of = -1};

    counts_follow(p, a);
    if (a->cause == CAUSE_RESIZE) {
        d.restart = true;
        return d;
    }
    if (a->final || p->cfg->fail_fast || a->cause == CAUSE_TIME_LIMIT)
        return d;
    if (a->cause == CAUSE_START && p->starts <= STARTS_MAX)
        d.restart = true;
    else if (a->cause == CAUSE_PREEMPTED)
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
    if (d.restart && a->cause != CAUSE_PREEMPTED)
        d.delay_s = delay(p->immediate + is_refused(a));
    return d;
}
