/*
 * attempt_end.c - every worker of an attempt is gone: how did it end, and why?
 *
 *   Lost nodes      known from the launcher and a survey before heartbeats are missed
 *   The end         the workers' record of it, against statuses and findings
 *   The verdict     with Slurm's state of the job
 *   The failure     as a message for the user
 */
#include <stdio.h>
#include <string.h>

#include "train/attempt.h"
#include "train/external_sigterm.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/hostlist.h"
#include "util/rank_choice.h"
#include "watch/node_survey.h"

/* ---- Lost nodes ---- */

/* Slurm may know of a lost node before its heartbeats are missed. */
static int lost_take(struct attempt *a, struct error *err)
{
    const char *lost = a->outcome.lost;
    char **names = NULL;

    if (!lost[0])
        return 0;
    if (hostlist_expand(lost, &names, err) < 0)
        return -1;
    for (size_t i = 0; names && names[i]; i++)
        attempt_planner_lose(a->run->planner, names[i]);
    argv_free(names);
    if (a->ended)
        return 0;
    a->ended = true;
    if (a->failure.cause == CAUSE_CALLBACK) /* it came first */
        return 0;
    a->failure = (struct failure){.cause = CAUSE_NODE_LOST, .rank = -1};
    snprintf(a->failure.host, sizeof a->failure.host, "%s", lost);
    snprintf(a->failure.message, sizeof a->failure.message, "lost node %s: %.900s",
             lost, a->outcome.failure.message);
    return 0;
}

static bool survey_wait(void *run, double seconds)
{
    return run_wait(run, seconds);
}

/* Workers may have failed because a node has died. If not, the next attempt should
 * still avoid nodes that cannot start workers. The tasks of a group that stays have just
 * answered on all nodes. */
static void nodes_survey(struct attempt *a)
{
    const struct launch_outcome *o = &a->outcome;
    struct failure finding;
    size_t used;

    if (!a->run->launcher->ask || !o->failed || o->stays || a->view.stopping ||
        a->run->stop.count ||
        a->run->cfg->run_config.failure_config.node_timeout_s == 0 ||
        !node_survey(&a->view, survey_wait, a->run, &finding) || a->ended)
        return;
    used = strlen(finding.message);
    if (o->failure.rank >= 0)
        snprintf(finding.message + used, sizeof finding.message - used,
                 "; rank %d%s%s failed", o->failure.rank,
                 o->failure.host[0] ? " on " : "", o->failure.host);
    callback_note(a->run->callbacks, "%s", finding.message);
    a->ended = true;
    a->failure = finding;
}

/* ---- The end ---- */

/* The workers' own record of their end decides. A watch that ended a group after that
 * was too late. */
static void end_take(struct attempt *a)
{
    char step[WORKER_STEP_MAX];

    if (a->end != WORKER_END_NONE || worker_record_read_step(a->log_dir, step))
        a->view.joined = true; /* even if its event has not arrived */
    attempt_outcome_settle(&a->outcome, a->end, a->view.joined,
                           a->ended || a->run->stop.hurried);
    if (a->end == WORKER_END_NONE || a->outcome.failed || !a->ended)
        return;
    a->ended = false;
    if (!a->view.stopping || a->failure.cause == CAUSE_NODE_LOST)
        a->failure = (struct failure)FAILURE_UNKNOWN;
}

/* ---- The verdict ---- */

static void job_look(struct attempt_facts *facts)
{
    const struct batch_ops *batch = batch_find();
    struct batch_job job;

    if (!batch || !attempt_may_be_preempted(facts) || batch->ask(&job, NULL) < 0)
        return;
    facts->job_preempted = job.preempted;
    facts->job_ends = !job.running;
}

/* Lost nodes are already left out of later plans; nodes that are being taken away are
 * left out here, if there are others. */
static int judge(struct attempt *a, struct attempt_verdict *verdict, struct error *err)
{
    struct attempt_facts facts = {.outcome = &a->outcome,
                                  .asked = a->run->stop,
                                  .stopping = a->view.stopping,
                                  .listening = a->listening,
                                  .joined = a->view.joined,
                                  .ended = a->ended,
                                  .cause = a->failure.cause,
                                  .workers = a->run->plan.workers};
    struct external_sigterm sigterm;

    if (external_sigterm_read(&a->run->plan, a->log_dir, &sigterm, err) < 0)
        return -1;
    facts.terminated = sigterm.n;
    job_look(&facts);
    *verdict = attempt_judge(&facts);
    if (verdict->goes_on)
        external_sigterm_describe(&sigterm, &a->failure);
    if (verdict->goes_on && !a->ended && a->run->launcher->ask)
        external_sigterm_avoid(&sigterm, a->run->planner);
    a->failure.cause = verdict->cause;
    external_sigterm_clear(&sigterm);
    return 0;
}

/* A failure to start that is not the training function's. */
static void obstacles_clear(struct attempt *a, struct attempt_verdict *verdict)
{
    if (verdict->status == RUN_FAILED && verdict->cause != CAUSE_CALLBACK &&
        start_obstacles_clear(a) && !a->ended && a->outcome.failure.cause != CAUSE_OOM)
        a->failure.cause = verdict->cause = CAUSE_START;
}

/* ---- The failure ---- */

/* If an observer ended the attempt, it knows why; else the launcher saw a worker
 * fail. */
static void failure_complete(struct attempt *a, const struct attempt_verdict *verdict,
                             struct attempt_end *end)
{
    int workers = a->run->plan.workers;

    if (!a->ended)
        a->failure = a->outcome.failure;
    if (verdict->never_joined)
        failure_never_joined(a->run->cfg, workers, &a->failure);
    else
        failure_diagnose(&a->failure, a->log_dir, workers, &end->log);
    end->log.shown = a->shown && shown_whole(a->shown) &&
                     rank_choice_has(a->run->cfg->run_config.show, a->failure.rank);
    a->failure.cause = verdict->cause;
}

/* An error of a GPU that a worker has reported may be the cause. */
static void gpu_error_use(struct attempt *a)
{
    char decided[GPU_ERROR_DECIDED_MAX];

    gpu_error_blame(&a->gpu_error, a->run->launcher->ask ? a->run->planner : NULL,
                    &a->failure, decided);
    if (decided[0])
        callback_note(a->run->callbacks, "%s", decided);
}

int attempt_conclude(struct attempt *a, struct attempt_end *end, struct error *err)
{
    struct attempt_verdict verdict;

    *end =
        (struct attempt_end){.stopping = a->view.stopping, .iteration = a->iteration};
    if (lost_take(a, err) < 0)
        return -1;
    nodes_survey(a);
    fault_point("attempt.ended", 0);
    failure_tidy(a->log_dir);
    worker_record_tidy(a->log_dir);
    end_take(a);
    end->left_together = !a->outcome.failed && !a->outcome.failure.never_started;
    if (judge(a, &verdict, err) < 0)
        return -1;
    obstacles_clear(a, &verdict);
    if (verdict.status == RUN_FAILED && verdict.cause != CAUSE_CALLBACK) {
        failure_complete(a, &verdict, end);
        gpu_error_use(a);
    } else if (verdict.status != RUN_FAILED) {
        a->failure.signal = a->run->stop.signal;
    }
    end->status = verdict.status;
    end->goes_on = verdict.goes_on;
    end->failure = a->failure;
    end->seconds = clock_now() - a->view.started;
    return 0;
}
