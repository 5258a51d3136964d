/*
 * backend_executor.c - the attempts of a run.
 *
 *   Nodes     for another attempt, lost ones that are back among them
 *   Restarts  FailureConfig's answer to a failed attempt
 *   The run   one attempt after another
 */
#include "train/backend_executor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/events.h"
#include "protocol/worker_record.h"
#include "run/attempt_config.h"
#include "run/checkpoint_manager.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "run/metrics_collector.h"
#include "run/run_dir.h"
#include "run/predicted_parts.h"
#include "train/aside.h"
#include "train/attempt.h"
#include "train/attempt_record.h"
#include "train/replica_cleanup.h"
#include "train/restart_policy.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/quote.h"
#include "watch/node_survey.h"

#define ANSWER_LOOK_S 0.05 /* how often the answers of nodes are checked */
#define RETURN_LOOK_S 0.5  /* how often nodes that may soon be back are asked */

struct backend_executor {
    struct run *run;
    int number; /* of the current attempt */
    struct metrics_collector *reports;
    struct restart_policy policy;
    struct attempt_end end; /* of the previous attempt */
    bool regained;          /* it continues with nodes that were lost and are back */
};

/* ---- Nodes ---- */

/* Ask the lost nodes once. *awaited: some may soon be back. */
static bool lost_ask(struct run *run, bool *awaited)
{
    const struct watch_view view = {.launcher = run->launcher,
                                    .planner = run->planner,
                                    .callbacks = run->callbacks};
    struct node_probe *probe = NULL;
    bool back;

    *awaited = false;
    node_return_ask(&view, &probe);
    if (!probe)
        return false;
    while (!node_probe_done(probe) && run_wait(run, ANSWER_LOOK_S))
        ;
    back = !run->stop.count && node_probe_done(probe) &&
           node_return_take(&view, probe, awaited) > 0;
    node_probe_destroy(probe);
    return back;
}

/* Before the run ends for lack of nodes: are lost ones back? A slurmd that restarts is
 * only away for moments. */
static bool lost_regain(struct run *run)
{
    double until = clock_now() + run->cfg->run_config.failure_config.node_timeout_s;
    bool back, awaited;

    do
        back = lost_ask(run, &awaited);
    while (!back && awaited && clock_now() < until && run_wait(run, RETURN_LOOK_S));
    return back;
}

/* A stop was requested between two attempts. */
static void stop_between(const struct run *run, struct run_outcome *out)
{
    struct failure failed = {.cause = CAUSE_CALLBACK, .rank = -1};

    out->status = RUN_STOPPED;
    out->failure =
        (struct failure){.cause = CAUSE_SIGNAL, .rank = -1, .signal = run->stop.signal};
    if (!callback_failed(run->callbacks, failed.message, sizeof failed.message))
        return;
    out->status = RUN_FAILED;
    out->failure = failed;
}

/* Find nodes for another attempt. If there are too few, the run is stopped, not failed:
 * it can continue in a larger allocation. 1: found; 0: not. */
static int replan(struct backend_executor *ex, struct run_outcome *out,
                  struct error *err)
{
    struct attempt_planner *planner = ex->run->planner;
    struct placement plan = {0};
    struct error why;
    int rc;

    if (attempt_planner_refresh(planner, &why) < 0) {
        if (why.code != RAYTRAIN_ESTOPPED)
            return error_set(err, why.code, "%s", why.text);
        event_loop_turn(ex->run->loop, 0, NULL); /* reads the request */
        stop_between(ex->run, out);
        return 0;
    }
    rc = attempt_planner_plan(planner, &plan, &why);
    ex->regained = rc < 0 && why.code == RAYTRAIN_EFIT && lost_regain(ex->run);
    if (ex->regained)
        rc = attempt_planner_plan(planner, &plan, &why);
    if (rc < 0) {
        if (why.code != RAYTRAIN_EFIT)
            return error_set(err, why.code, "%s", why.text);
        out->status = RUN_STOPPED;
        out->failure.signal = ex->run->stop.signal;
        snprintf(out->missing, sizeof out->missing, "%s", why.text);
        return 0;
    }
    placement_clear(&ex->run->plan);
    ex->run->plan = plan;
    ex->run->overlap = ex->run->overlap || attempt_planner_had_losses(planner);
    return 1;
}

static void plan_announce(struct backend_executor *ex)
{
    callback_note(
        ex->run->callbacks,
        "continuing from the latest checkpoint with %d worker%s on %zu node%s",
        ex->run->plan.workers, ex->run->plan.workers == 1 ? "" : "s",
        ex->run->plan.n_nodes, ex->run->plan.n_nodes == 1 ? "" : "s");
}

/* ---- Restarts ---- */

/* Was it stopped only to continue with more workers? */
static bool is_resize(const struct backend_executor *ex)
{
    return ex->end.status == RUN_STOPPED && ex->end.failure.cause == CAUSE_RESIZE &&
           ex->run->stop.count == 0;
}

static bool is_over(const struct backend_executor *ex)
{
    const struct attempt_end *end = &ex->end;

    return end->status == RUN_FINISHED || end->stopping || ex->run->stop.count > 0 ||
           (end->status == RUN_STOPPED && !is_resize(ex) && !end->goes_on);
}

/* Does the next attempt leave out the node whose GPU has failed? */
static bool is_left_out(const struct backend_executor *ex)
{
    const struct failure *f = &ex->end.failure;

    return f->cause == CAUSE_GPU && attempt_planner_is_lost(ex->run->planner, f->host);
}

/* A lost node, or one that is left out for a failed GPU, does not count as a failure if
 * the run is prepared for it, or if it is back. */
static bool is_excused(const struct backend_executor *ex)
{
    const struct scaling_config *scaling = &ex->run->cfg->scaling_config;
    bool prepared = scaling->spare_nodes > 0 || scaling_config_is_elastic(scaling);

    return is_resize(ex) || (is_left_out(ex) && prepared) ||
           (ex->end.failure.cause == CAUSE_NODE_LOST && (prepared || ex->regained));
}

/* Ask FailureConfig what to do about the attempt that has just failed. */
static struct restart_decision restart_decide(struct backend_executor *ex,
                                              struct failure *failure)
{
    const struct failed_attempt attempt = {
        .failure = failure,
        .seconds = ex->end.seconds,
        .checkpoint = checkpoint_manager_newest(ex->run->dir),
        .iteration = ex->end.iteration,
    };
    struct restart_decision d = restart_policy_decide(&ex->policy, &attempt);
    size_t used = strlen(failure->message);

    if (d.why[0])
        snprintf(failure->message + used, sizeof failure->message - used, "; %s",
                 d.why);
    return d;
}

static void restart_announce(struct backend_executor *ex, const struct failure *f,
                             const struct restart_decision *d)
{
    char where[300] = "", of[32] = "", after[64] = "", which[80] = "";
    bool preempted = ex->end.failure.cause == CAUSE_PREEMPTED;
    char *message = indented_lines(f->message, "  ");

    if (!preempted && f->rank >= 0)
        snprintf(where, sizeof where, "rank %d%s%s: ", f->rank,
                 f->host[0] ? " on " : "", f->host);
    if (d->of >= 0)
        snprintf(of, sizeof of, " of %d", d->of);
    if (d->delay_s > 0)
        snprintf(after, sizeof after, " in %.0f s", d->delay_s);
    if (d->used > 0)
        snprintf(which, sizeof which, " (%s %d%s)",
                 preempted ? "preemption" : "restart", d->used, of);
    callback_note(ex->run->callbacks,
                  "attempt %d %s: %s%s\n"
                  "  restarting from the latest checkpoint%s%s",
                  ex->number, preempted ? "was preempted" : "failed", where,
                  message ? message : f->message, after, which);
    free(message);
}

/* Should there be another attempt? */
static bool restart(struct backend_executor *ex, struct run_outcome *out)
{
    struct restart_decision d = restart_decide(ex, &out->failure);

    if (!d.restart)
        return false;
    restart_announce(ex, &out->failure, &d);
    fault_point("attempt.between", ex->number);
    if (run_wait(ex->run, d.delay_s))
        return true;
    stop_between(ex->run, out);
    return false;
}

/* ---- The run ---- */

/* Clean up if the launcher of the previous attempt was killed. */
static void previous_tidy(const struct run *run, int previous)
{
    char *log_dir = previous >= 0 ? run_dir_log_dir(run->dir, previous) : NULL;

    if (log_dir) {
        failure_tidy(log_dir);
        worker_record_tidy(log_dir);
        attempt_tidy(log_dir);
        attempt_config_tidy(log_dir);
        journal_tidy(log_dir, METRICS_JOURNAL);
        events_finish(log_dir, NULL, NULL);
    }
    free(log_dir);
}

static int settle_work(void *reports, json_t **answer, struct error *err)
{
    (void)answer;
    return metrics_collector_settle(reports, err);
}

/* Complete result.json, unless another process owns the run by now. */
static int reports_settle(struct backend_executor *ex, struct error *err)
{
    json_t *none;

    if (run_lock_check(ex->run->lock, NULL) < 0)
        return 0;
    return aside(ex->run, "complete result.json", settle_work, ex->reports, &none, err);
}

static void note_keep(void *notes, const char *text)
{
    json_array_append_new(notes, json_text(text));
}

static int tidy_work(void *run_dir, json_t **notes, struct error *err)
{
    (void)err;
    if ((*notes = json_array()))
        checkpoint_manager_tidy(run_dir, note_keep, *notes);
    return 0;
}

/* A worker that dies in a save leaves a file as large as a checkpoint. Rank 0 of the
 * next attempt removes those that it sees, but not one that a worker of a lost node
 * made later, or that its node does not list yet. */
static void saves_tidy(struct run *run)
{
    json_t *notes = NULL, *note;
    size_t i;

    if (run_lock_check(run->lock, NULL) == 0)
        aside(run, "remove what interrupted saves have left", tidy_work,
              (void *)run->dir, &notes, NULL);
    json_array_foreach(notes, i, note)
        callback_note(run->callbacks, "%s", json_string_value(note));
    json_decref(notes);
}

static int attempt_next(struct backend_executor *ex, struct run_outcome *out,
                        struct error *err)
{
    int64_t from = ex->policy.checkpoint > 0 ? ex->policy.checkpoint : 0;

    if (attempt_run(ex->run, ex->number, from, ex->reports, &ex->end, err) < 0)
        return -1;
    out->status = ex->end.status;
    out->failure = ex->end.failure;
    out->log = ex->end.log;
    out->by_node = ex->end.goes_on;
    return 0;
}

/* Decide whether another attempt follows, and on which nodes. 1: yes; 0: no. */
static int attempt_prepare(struct backend_executor *ex, struct run_outcome *out,
                           struct error *err)
{
    int workers = ex->run->plan.workers, rc;

    if (is_over(ex))
        return 0;
    rc = replan(ex, out, err);
    if (rc <= 0)
        return rc;
    if (!is_excused(ex) && !restart(ex, out))
        return 0;
    if (is_excused(ex) || ex->run->plan.workers != workers)
        plan_announce(ex);
    ex->number++;
    return 1;
}

/* Count earlier preemptions of this job, after which it was requeued. False: do not
 * continue. */
static bool preemptions_recall(struct backend_executor *ex, struct run_outcome *out)
{
    const struct batch_ops *batch = batch_find();
    int restarts = batch ? batch->restarts() : 0,
        most = ex->policy.cfg->max_preemptions;
    int n = restarts > 0 ? attempt_preemptions(ex->run->dir, ex->number,
                                               batch->job_id(), restarts)
                         : 0;

    if (n > 0 && most >= 0 && !ex->run->opt->quiet)
        callback_note(ex->run->callbacks,
                      "the job was preempted %d time%s before, of %d that "
                      "max_preemptions allow",
                      n, n == 1 ? "" : "s", most);
    if (restart_policy_preempted(&ex->policy, n))
        return true;
    out->status = RUN_STOPPED;
    out->failure = (struct failure){.cause = CAUSE_PREEMPTED, .rank = -1};
    out->used_up = true;
    return false;
}

static void preemption_count(struct backend_executor *ex, struct run_outcome *out)
{
    const struct attempt_end *end = &ex->end;

    if (end->status == RUN_STOPPED && end->failure.cause == CAUSE_PREEMPTED &&
        !end->goes_on)
        out->used_up = !restart_policy_preempted(&ex->policy, 1);
}

/* A wish for restarts in the same step that cannot be met is answered once. */
static void keep_note(const struct run *run)
{
    const struct launcher_ops *launcher = run->launcher;
    const char *why = "this launcher starts workers without a step";

    if (!run->cfg->run_config.failure_config.same_step || run->opt->quiet)
        return;
    if (launcher->again)
        why = launcher->keep_obstacle(run->opt->srun_args);
    if (why)
        callback_note(run->callbacks, "restart = \"same_step\" has no effect: %s", why);
}

static int executor_attempts_make(struct backend_executor *ex, struct run_outcome *out,
                                  struct error *err)
{
    int rc;

    previous_tidy(ex->run, ex->number - 1);
    keep_note(ex->run);
    restart_policy_init(&ex->policy, &ex->run->cfg->run_config.failure_config,
                        checkpoint_manager_newest(ex->run->dir));
    if (!preemptions_recall(ex, out))
        return reports_settle(ex, err);
    do {
        rc = attempt_next(ex, out, err);
        out->attempts++;
        if (rc == 0)
            rc = attempt_prepare(ex, out, err);
    } while (rc > 0);
    kept_group_clear(&ex->run->kept);
    preemption_count(ex, out);
    if (rc < 0 || !ex->end.left_together)
        replica_cleanup(ex->run);
    if (rc < 0 || !ex->end.left_together || ex->number > 0)
        saves_tidy(ex->run);
    if (reports_settle(ex, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

/* The progress of the run, which grows; kept for the next call. */
static int64_t progress(const struct run *run)
{
    return predict_config_predicts(&run->cfg->predict)
               ? run_parts_count(run->dir)
               : checkpoint_manager_newest(run->dir);
}

/* Was the previous call stopped, too, without progress since it began? */
static bool is_fruitless(const struct run *run, int first)
{
    char *log_dir = first > 0 ? run_dir_log_dir(run->dir, first - 1) : NULL;
    int64_t before;
    bool fruitless =
        log_dir && attempt_was_stopped(log_dir, &before) && progress(run) <= before;

    free(log_dir);
    return fruitless;
}

int backend_executor_run(struct run *run, struct run_outcome *outcome,
                         struct error *err)
{
    struct backend_executor ex = {.run = run,
                                  .number = run_dir_last_attempt(run->dir) + 1};
    int first = ex.number, rc = -1;

    memset(outcome, 0, sizeof *outcome);
    run->progress_before = progress(run);
    if (metrics_collector_open(run->dir, &ex.reports, err) == 0) {
        if (metrics_collector_iteration(ex.reports) >= 0)
            callback_list_continue(run->callbacks,
                                   metrics_collector_iteration(ex.reports));
        rc = executor_attempts_make(&ex, outcome, err);
    }
    outcome->fruitless = rc == 0 && outcome->status == RUN_STOPPED &&
                         outcome->failure.cause != CAUSE_PREEMPTED &&
                         is_fruitless(run, first);
    metrics_collector_close(ex.reports);
    return rc;
}
