#include "train/backend_executor.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "slurm/job.h"
#include "run/attempt_config.h"
#include "slurm/controller_wait.h"
#include "run/checkpoint_manager.h"
#include "protocol/events.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "protocol/worker_record.h"
#include "train/attempt_record.h"
#include "train/replica_cleanup.h"
#include "watch/node_return.h"
#include "watch/node_survey.h"
#include "train/restart_policy.h"
#include "train/stop_request.h"
#include "train/external_sigterm.h"
#include "watch/watch.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/hostlist.h"
#include "util/json_text.h"

#define ANSWER_LOOK_S  0.05 /* how often nodes are looked at that were asked */
#define RETURN_LOOK_S  0.5  /* and nodes that may be back in a moment */
#define PROLOG_LOOK_S  2.0  /* and a job whose nodes are being prepared */
#define RECORD_WAIT_S  15.0 /* for the workers' record, after they are gone */
#define RECORD_EARLY_S 2.0  /* if they have not come together before */
#define FOLLOW_EVERY_MS                                                                \
    200 /* how often the files that workers append to are looked at */

struct backend_executor {
    struct worker_group_spec spec; /* of the current attempt */
    struct placement plan;         /* of attempts after the first */
    struct callback_list *callbacks;
    struct stop_request stop;
    int timer_fd;
    struct metrics_collector *reports; /* over all attempts */
    const char *log_dir;               /* of the current attempt; NULL: none */
    json_t *attempt;                   /* its record */
    struct watch_view view;            /* the current attempt, as its watches see it */
    struct watch_set *watches;
    bool listening; /* all workers hear LAUNCHER_STOP_SIGNAL */
    bool stop_sent;
    bool ended;                   /* a watch has ended the attempt */
    struct watch_finding finding; /* why it was stopped or ended */
    bool regained; /* it goes on with nodes that were lost, and are back */
    struct attempt_verdict verdict; /* of the attempt that has ended */
    bool left_together; /* the workers came to their end, and have tidied up */
    struct restart_policy policy;
    int64_t iteration;   /* of the last report, or where the attempt goes on from */
    enum worker_end end; /* as the workers of the current attempt have recorded it */
    double gone;         /* when they were gone; 0: not yet */
};

const char *run_status_name(enum run_status status)
{
    static const char *const names[] = {"finished", "stopped", "failed"};

    return names[status];
}

/* ---- what workers write ---- */

static double seconds(const json_t *report, const char *key)
{
    return json_number_value(json_object_get(report, key));
}

static void on_report(void *arg, const json_t *report)
{
    struct backend_executor *ex = arg;

    ex->view.last_report = clock_now();
    ex->iteration = json_integer_value(json_object_get(report, "training_iteration"));
    report_pace_add(&ex->view.pace, seconds(report, "time_this_iter_s"));
    ex->view.save_max_s =
        fmax(ex->view.save_max_s, seconds(report, "checkpoint_write_s"));
    callback_report(ex->callbacks, report);
}

static void on_event(void *arg, const json_t *event)
{
    struct backend_executor *ex = arg;
    const char *text = json_string_value(json_object_get(event, "text"));
    json_t *checkpoint = json_object_get(event, "checkpoint");
    const char *kind = json_string_value(json_object_get(event, "kind"));
    bool restored = json_is_string(checkpoint);

    if (kind && strcmp(kind, "joined") == 0) {
        ex->view.joined = true;
        return;
    }
    if (kind && strcmp(kind, "started") == 0) {
        ex->listening = true;
        return;
    }
    if (restored)
        json_object_set(ex->attempt, "checkpoint", checkpoint);
    if (text && !(restored && ex->spec.opt->quiet))
        callback_note(ex->callbacks, "%s", text);
}

/* What cannot be read or collected now is later, or the run's end says why not. */
static void follow(struct backend_executor *ex)
{
    events_take(ex->log_dir, on_event, ex);
    metrics_collector_poll(ex->reports, on_report, ex, NULL);
}

/* ---- one attempt ---- */

/* Pass the request on. A worker that does not listen yet would die of the signal: a
 * group that starts up is asked as soon as all of it does. */
static int stop_send(struct backend_executor *ex, struct worker_group *group,
                     struct error *err)
{
    if (!ex->view.stopping || !ex->listening || ex->stop_sent)
        return 0;
    ex->stop_sent = true;
    return worker_group_stop(group, err);
}

static int workers_stop(struct backend_executor *ex, struct worker_group *group,
                        const struct watch_finding *why, struct error *err)
{
    if (!ex->view.stopping && !ex->ended)
        ex->finding = *why;
    ex->view.stopping = true;
    return stop_send(ex, group, err);
}

/* The keeper of the lock has called (run_lock_keep). What the workers would still write
 * has no place in a run that may be another's. */
static int on_lock_lost(struct backend_executor *ex, struct worker_group *group,
                        struct error *err)
{
    struct watch_finding lost = {.cause = CAUSE_SIGNAL, .rank = -1};

    snprintf(lost.message, sizeof lost.message,
             "the lock of the run is lost: stopping at once");
    callback_note(ex->callbacks, "%s", lost.message);
    ex->finding = lost;
    ex->view.stopping = true;
    return worker_group_kill(group, err);
}

static int on_stop_signal(struct backend_executor *ex, struct worker_group *group,
                          struct error *err)
{
    const struct watch_finding asked = {.cause = CAUSE_SIGNAL, .rank = -1};

    if (stop_request_read(&ex->stop) == 0)
        return 0;
    if (run_lock_check(ex->spec.lock, NULL) < 0)
        return on_lock_lost(ex, group, err);
    if (ex->stop.count >= 2) {
        callback_note(ex->callbacks, "stopping at once");
        return worker_group_kill(group, err);
    }
    follow(ex); /* do they listen by now? */
    if (workers_stop(ex, group, &asked, err) < 0)
        return -1;
    callback_note(ex->callbacks,
                  "%s: stopping at the next report; a second one stops at once",
                  strsignal(ex->stop.signal));
    return 0;
}

/* Ask the watches, and do what they say. */
static int on_tick(struct backend_executor *ex, struct worker_group *group,
                   struct error *err)
{
    struct watch_finding finding;

    follow(ex);
    if (stop_send(ex, group, err) < 0)
        return -1;
    if (ex->ended || ex->gone > 0)
        return 0;
    ex->view.now = clock_now();
    ex->view.unix_now = clock_unix_double();
    switch (watch_set_tick(ex->watches, &ex->view, &finding)) {
    case WATCH_GOES_ON:
        return 0;
    case WATCH_STOP:
        callback_note(ex->callbacks, "%s", finding.message);
        if (finding.cause == CAUSE_RESIZE) {
            ex->finding = finding;
            return worker_group_stop_at_checkpoint(group, err);
        }
        return workers_stop(ex, group, &finding, err);
    case WATCH_END:
        callback_note(ex->callbacks, "%s", finding.message);
        if (ex->view.stopping && finding.cause != CAUSE_NODE_LOST)
            finding.cause = ex->finding.cause;
        ex->finding = finding;
        ex->ended = true;
        return finding.cause == CAUSE_NODE_LOST ? worker_group_abandon(group, err)
                                                : worker_group_kill(group, err);
    }
    return 0;
}

/*
 * The workers are gone: is their record of the end read? It is not looked for before,
 * so that no node has an answer from earlier at hand. If the statuses are those of an
 * end together it may still be on its way from another node: it is waited for, but not
 * when the workers were killed, nor for as long when they have never come together.
 */
static bool end_is_known(struct backend_executor *ex, const struct worker_group *group,
                         const struct launch_outcome *outcome)
{
    double now = clock_now(), limit = ex->view.joined ? RECORD_WAIT_S : RECORD_EARLY_S;

    if (ex->gone == 0)
        ex->gone = now;
    ex->end =
        worker_record_read_end(worker_group_log_dir(group), ex->spec.plan->workers);
    return ex->end != WORKER_END_NONE || outcome->failed || outcome->launch_failed ||
           !ex->spec.launcher->ask || ex->ended || ex->stop.count >= 2 ||
           now - ex->gone > limit;
}

/* The event loop of an attempt: until every worker is gone. */
static int attempt_watch(struct backend_executor *ex, struct worker_group *group,
                         struct launch_outcome *outcome, struct error *err)
{
    struct pollfd fds[] = {
        {.fd = worker_group_fd(group), .events = POLLIN},
        {.fd = ex->stop.fd, .events = POLLIN},
        {.fd = ex->timer_fd, .events = POLLIN},
    };
    uint64_t ticks;
    bool done = false;

    while (!done || !end_is_known(ex, group, outcome)) {
        fds[0].fd = done ? -1 : fds[0].fd;
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "poll: %s", strerror(errno));
        if (fds[1].revents && on_stop_signal(ex, group, err) < 0)
            return -1;
        if (fds[2].revents && read(ex->timer_fd, &ticks, sizeof ticks) > 0 &&
            on_tick(ex, group, err) < 0)
            return -1;
        if (!done && worker_group_advance(group, &done, outcome, err) < 0)
            return -1;
        if (outcome->failed && ex->view.failing == 0)
            ex->view.failing = clock_now();
    }
    follow(ex);
    events_finish(ex->log_dir, on_event, ex);
    return 0;
}

static int attempt_begin(struct backend_executor *ex, const char *log_dir,
                         struct error *err)
{
    int rc = -1;

    ex->log_dir = log_dir;
    ex->attempt =
        attempt_create(ex->spec.attempt, ex->spec.launcher->name, ex->spec.plan);
    if (!ex->attempt)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    else if (attempt_config_save(log_dir, ex->spec.config, err) == 0 &&
             attempt_save(ex->attempt, log_dir, err) == 0)
        rc = metrics_collector_follow(ex->reports, log_dir, err);
    fault_point("attempt.record", 0);
    if (rc == 0)
        callback_attempt_start(ex->callbacks, ex->attempt);
    return rc;
}

static int watches_begin(struct backend_executor *ex, struct worker_group *group,
                         struct error *err)
{
    ex->view = (struct watch_view){.spec = &ex->spec,
                                   .group = group,
                                   .callbacks = ex->callbacks,
                                   .log_dir = worker_group_log_dir(group),
                                   .stop = &ex->stop,
                                   .now = clock_now(),
                                   .unix_now = clock_unix_double()};
    ex->view.started = ex->view.now;
    ex->finding = (struct watch_finding){.rank = -1};
    ex->ended = ex->listening = ex->stop_sent = false;
    ex->end = WORKER_END_NONE;
    ex->gone = 0;
    ex->iteration = ex->policy.checkpoint > 0 ? ex->policy.checkpoint : 0;
    return watch_set_create(&ex->view, &ex->watches, err);
}

static int attempt_end(struct backend_executor *ex, const char *log_dir,
                       enum run_status status, const struct failure *failure,
                       struct error *err)
{
    json_t *record = ex->attempt;
    bool found = ex->finding.message[0];
    int rc = json_object_set_new(record, "end", json_real(clock_unix_double()));

    rc |= json_object_set_new(record, "outcome", json_string(run_status_name(status)));
    rc |= json_object_set_new(record, "cause",
                              status == RUN_FINISHED
                                  ? json_null()
                                  : json_string(attempt_cause_name(ex->finding.cause)));
    if (status == RUN_STOPPED && ex->stop.signal)
        rc |= json_object_set_new(record, "signal", json_integer(ex->stop.signal));
    if (failure) {
        rc |= json_object_set_new(record, "rank", json_integer(failure->rank));
        rc |= json_object_set_new(record, "host", json_text(failure->host));
        rc |= json_object_set_new(record, "signal", json_integer(failure->signal));
        rc |= json_object_set_new(record, "exit_status",
                                  json_integer(failure->exit_status));
        rc |= json_object_set_new(record, "message", json_text(failure->message));
    } else if (found && status != RUN_FINISHED) {
        if (ex->finding.rank >= 0) {
            rc |= json_object_set_new(record, "rank", json_integer(ex->finding.rank));
            rc |= json_object_set_new(record, "host", json_text(ex->finding.host));
        }
        rc |= json_object_set_new(record, "message", json_text(ex->finding.message));
    }
    if (rc)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    callback_attempt_end(ex->callbacks, record);
    return attempt_save(record, log_dir, err);
}

/* What FailureConfig decides about, and the user is told, of an attempt that was
 * stopped because some of its workers were told to go. */
static void told_describe(const struct backend_executor *ex, struct failure *failure)
{
    *failure = (struct failure){.rank = ex->finding.rank, .code = RAYTRAIN_EFAILED};
    snprintf(failure->host, sizeof failure->host, "%s", ex->finding.host);
    snprintf(failure->message, sizeof failure->message, "%s", ex->finding.message);
}

static void job_look(struct attempt_facts *facts)
{
    struct slurm_job job;

    if (!attempt_may_be_preempted(facts) || !slurm_job_id() ||
        slurm_job_ask(&job, NULL) < 0)
        return;
    facts->job_preempted = job.preempted;
    facts->job_ends = !job.running;
}

/* A lost node is left already; one that is only to go is, where there are others. */
static int judge(struct backend_executor *ex, const struct launch_outcome *outcome,
                 const char *log_dir, struct error *err)
{
    struct attempt_facts facts = {.outcome = outcome,
                                  .asked = ex->stop,
                                  .stopping = ex->view.stopping,
                                  .listening = ex->listening,
                                  .joined = ex->view.joined,
                                  .ended = ex->ended,
                                  .cause = ex->finding.cause,
                                  .workers = ex->spec.plan->workers};
    struct told told;

    if (told_read(ex->spec.plan, log_dir, &told, err) < 0)
        return -1;
    facts.told = told.n;
    job_look(&facts);
    ex->verdict = attempt_judge(&facts);
    if (ex->verdict.goes_on)
        told_find(&told, &ex->finding);
    if (ex->verdict.goes_on && !ex->ended && ex->spec.launcher->ask)
        told_leave(&told, ex->spec.planner);
    ex->finding.cause = ex->verdict.cause;
    told_clear(&told);
    return 0;
}

/* Whoever ended the attempt knows why; of the workers, which were only killed, the
 * first one's log may still tell more. */
static void attempt_failure(const struct backend_executor *ex,
                            const struct launch_outcome *outcome, const char *log_dir,
                            struct failure *failure)
{
    struct launch_outcome found = {.failed = true, .rank = ex->finding.rank};

    if (ex->ended) {
        snprintf(found.host, sizeof found.host, "%s", ex->finding.host);
        snprintf(found.detail, sizeof found.detail, "%.1000s", ex->finding.message);
        outcome = &found;
    }
    if (ex->verdict.never_joined)
        failure_never_joined(ex->spec.cfg, ex->spec.plan->workers, failure);
    else
        failure_describe(outcome, log_dir, ex->spec.plan->workers, failure);
}

/* Wait before a restart; false: it was asked to stop meanwhile. */
static bool restart_wait(void *executor, double seconds)
{
    struct backend_executor *ex = executor;
    double until = clock_now() + seconds, left;

    while (!ex->stop.count && (left = until - clock_now()) > 0) {
        struct pollfd fd = {.fd = ex->stop.fd, .events = POLLIN};

        poll(&fd, 1, (int)(left * 1e3) + 1);
        stop_request_read(&ex->stop);
    }
    return !ex->stop.count;
}

/* Slurm may know of a lost node before its silence tells. */
static int lost_take(struct backend_executor *ex, const struct launch_outcome *outcome,
                     struct error *err)
{
    char **names = NULL;

    if (!outcome->lost[0])
        return 0;
    if (hostlist_expand(outcome->lost, &names, err) < 0)
        return -1;
    for (size_t i = 0; names && names[i]; i++)
        attempt_planner_lose(ex->spec.planner, names[i]);
    argv_free(names);
    if (!ex->ended) {
        ex->ended = true;
        ex->finding = (struct watch_finding){.cause = CAUSE_NODE_LOST, .rank = -1};
        snprintf(ex->finding.host, sizeof ex->finding.host, "%s", outcome->lost);
        snprintf(ex->finding.message, sizeof ex->finding.message,
                 "lost node %s: %.900s", outcome->lost, outcome->detail);
    }
    return 0;
}

/* A group has failed: perhaps because a node has died. If not, the next one is still
 * not to start on a node that cannot start workers. */
static void nodes_survey(struct backend_executor *ex,
                         const struct launch_outcome *outcome)
{
    struct watch_finding finding;
    size_t used;

    if (!ex->spec.launcher->ask || !outcome->failed || ex->view.stopping ||
        ex->stop.count || ex->spec.cfg->run_config.failure_config.node_timeout_s == 0 ||
        !node_survey(&ex->spec, restart_wait, ex, &finding) || ex->ended)
        return;
    used = strlen(finding.message);
    if (outcome->rank >= 0)
        snprintf(finding.message + used, sizeof finding.message - used,
                 "; rank %d%s%s failed", outcome->rank, outcome->host[0] ? " on " : "",
                 outcome->host);
    callback_note(ex->callbacks, "%s", finding.message);
    ex->ended = true;
    ex->finding = finding;
}

/* A node on which no worker could be started, though it answers: for a reason that
 * another node may not have. */
static bool node_avoid(struct backend_executor *ex,
                       const struct launch_outcome *outcome)
{
    if (!outcome->launch_failed || outcome->rank >= 0 || !outcome->host[0] ||
        outcome->code != RAYTRAIN_OK || !ex->spec.launcher->ask)
        return false;
    attempt_planner_lose(ex->spec.planner, outcome->host);
    return true;
}

/* Before Slurm 22.05 a step shares the CPUs of another one only: what that has of memory
 * and GPUs stays taken until Slurm has noticed that its node is dead. */
static void held_nodes_leave(struct backend_executor *ex, char *const *nodes)
{
    callback_note(ex->callbacks,
                  "a step of an earlier attempt, which Slurm has not ended yet, still "
                  "holds memory or GPUs of %s%s: going on without",
                  nodes[0], nodes[1] ? " and other nodes" : "");
    for (; *nodes; nodes++)
        attempt_planner_lose(ex->spec.planner, *nodes);
}

/*
 * Slurm has steps that nothing ends: where srun was killed early, or the tasks did not
 * come together (OpenPMIx 4.2). Nothing of such a step trains any more, but it keeps
 * its CPUs. Where one of this run's may be why an attempt did not start, what comes
 * next shares the nodes with it.
 */
static bool step_is_left(struct backend_executor *ex,
                         const struct launch_outcome *outcome)
{
    bool doubtful = outcome->busy || ex->finding.cause == CAUSE_START;
    bool shared = ex->spec.overlap;
    char **nodes;

    if (!doubtful || (shared && !outcome->busy))
        return false;
    nodes = slurm_job_step_nodes(ex->spec.cfg->run_config.name);
    if (!nodes)
        return false;
    if (shared)
        held_nodes_leave(ex, nodes);
    ex->spec.overlap = true;
    argv_free(nodes);
    return true;
}

/* The nodes of the job are being prepared: is that why? Then it is waited for. */
static bool prolog_await(struct backend_executor *ex)
{
    struct slurm_job job;
    bool found = false;

    while (slurm_job_ask(&job, NULL) == 0 && job.prolog) {
        if (!found)
            callback_note(ex->callbacks,
                          "the nodes of job %s are being prepared (its prolog): waiting",
                          slurm_job_id());
        found = true;
        if (!restart_wait(ex, PROLOG_LOOK_S))
            break;
    }
    return found;
}

/* No step could be had: for lack of a controller, or since it is too early? */
static bool steps_were_barred(struct backend_executor *ex,
                              const struct launch_outcome *outcome)
{
    if (!outcome->launch_failed || !ex->spec.launcher->ask || !slurm_job_id())
        return false;
    return slurm_controller_await(restart_wait, ex) || prolog_await(ex);
}

static void failure_cause_settle(struct backend_executor *ex,
                                 const struct launch_outcome *outcome)
{
    bool left = step_is_left(ex, outcome), avoided = node_avoid(ex, outcome);
    bool barred = steps_were_barred(ex, outcome);

    if ((left || avoided || barred) && !ex->ended && !outcome->oom)
        ex->finding.cause = CAUSE_START;
}

/* The workers have the last word on their end. A watch that ended a group which had
 * come to its end came too late. */
static void end_take(struct backend_executor *ex, struct launch_outcome *outcome,
                     const char *log_dir)
{
    char step[WORKER_STEP_MAX];

    if (ex->end != WORKER_END_NONE || worker_record_read_step(log_dir, step))
        ex->view.joined = true; /* also if its event has not arrived */
    attempt_outcome_settle(outcome, ex->end, ex->view.joined,
                           ex->ended || ex->stop.count >= 2);
    if (ex->end == WORKER_END_NONE || outcome->failed || !ex->ended)
        return;
    ex->ended = false;
    if (!ex->view.stopping || ex->finding.cause == CAUSE_NODE_LOST)
        ex->finding = (struct watch_finding){.rank = -1};
}

/* The group is gone: what is told of it, to whom. */
static int attempt_conclude(struct backend_executor *ex, struct launch_outcome *outcome,
                            const char *log_dir, struct run_outcome *out,
                            struct error *err)
{
    failure_tidy(log_dir);
    worker_record_tidy(log_dir);
    end_take(ex, outcome, log_dir);
    ex->left_together = !outcome->failed && !outcome->launch_failed;
    if (judge(ex, outcome, log_dir, err) < 0)
        return -1;
    out->status = ex->verdict.status;
    if (out->status == RUN_FAILED)
        failure_cause_settle(ex, outcome);
    out->cause = ex->finding.cause;
    out->by_node = ex->verdict.goes_on;
    out->signal = ex->stop.signal;
    if (out->status == RUN_FAILED)
        attempt_failure(ex, outcome, log_dir, &out->failure);
    else if (ex->verdict.goes_on)
        told_describe(ex, &out->failure);
    return attempt_end(ex, log_dir, out->status,
                       out->status == RUN_FAILED ? &out->failure : NULL, err);
}

static int attempt_run(struct backend_executor *ex, struct run_outcome *out,
                       struct error *err)
{
    struct worker_group *group = NULL;
    struct launch_outcome outcome = {.rank = -1};
    int rc = -1;

    if (worker_group_start(&ex->spec, &group, err) < 0)
        return -1;
    fault_point("group.started", 0);
    if (attempt_begin(ex, worker_group_log_dir(group), err) == 0 &&
        watches_begin(ex, group, err) == 0 &&
        attempt_watch(ex, group, &outcome, err) == 0 &&
        lost_take(ex, &outcome, err) == 0) {
        nodes_survey(ex, &outcome);
        fault_point("attempt.ended", 0);
        rc = attempt_conclude(ex, &outcome, worker_group_log_dir(group), out, err);
    }
    watch_set_destroy(ex->watches);
    ex->watches = NULL;
    ex->log_dir = NULL;
    json_decref(ex->attempt);
    ex->attempt = NULL;
    worker_group_destroy(group);
    return rc;
}

/* ---- all attempts ---- */

/* Stopped only to go on with more workers. */
static bool is_resize(const struct backend_executor *ex, const struct run_outcome *out)
{
    return out->status == RUN_STOPPED && ex->finding.cause == CAUSE_RESIZE &&
           ex->stop.count == 0;
}

static bool is_over(const struct backend_executor *ex, const struct run_outcome *out)
{
    return out->status == RUN_FINISHED || ex->view.stopping || ex->stop.count > 0 ||
           (out->status == RUN_STOPPED && !is_resize(ex, out) && !ex->verdict.goes_on);
}

/* A lost node is nobody's failure where the run is prepared for it, or it is back. */
static bool is_excused(const struct backend_executor *ex, const struct run_outcome *out)
{
    const struct scaling_config *scaling = &ex->spec.cfg->scaling_config;

    return is_resize(ex, out) || (ex->finding.cause == CAUSE_NODE_LOST &&
                                  (scaling->spare_nodes > 0 ||
                                   scaling_config_is_elastic(scaling) || ex->regained));
}

/* Ask the lost nodes once. *awaited: some may be back in a moment. */
static bool lost_ask(struct backend_executor *ex, bool *awaited)
{
    struct node_probe *probe = NULL;
    bool back;

    *awaited = false;
    node_return_ask(&ex->spec, &probe);
    if (!probe)
        return false;
    while (!node_probe_done(probe) && restart_wait(ex, ANSWER_LOOK_S))
        ;
    back = !ex->stop.count && node_probe_done(probe) &&
           node_return_take(&ex->spec, ex->callbacks, probe, awaited) > 0;
    node_probe_destroy(probe);
    return back;
}

/* Before it is given up for want of nodes: are lost ones back by now? A slurmd that is
 * restarted is away for moments. */
static bool lost_regain(struct backend_executor *ex)
{
    double until =
        clock_now() + ex->spec.cfg->run_config.failure_config.node_timeout_s;
    bool back, awaited;

    do
        back = lost_ask(ex, &awaited);
    while (!back && awaited && clock_now() < until && restart_wait(ex, RETURN_LOOK_S));
    return back;
}

/* It was asked to stop between two attempts. */
static int run_stop(struct backend_executor *ex, struct run_outcome *out)
{
    stop_request_read(&ex->stop);
    out->status = RUN_STOPPED;
    out->cause = CAUSE_SIGNAL;
    out->signal = ex->stop.signal;
    return 0;
}

/* Find nodes for another attempt. Where they do not suffice the run is stopped, not
 * broken: it can go on where there are more. 1: found; 0: not. */
static int replan(struct backend_executor *ex, struct run_outcome *out,
                  struct error *err)
{
    struct placement plan = {0};
    struct error why;
    int rc;

    if (attempt_planner_refresh(ex->spec.planner, &why) < 0)
        return why.code == RAYTRAIN_ESTOPPED
                   ? run_stop(ex, out)
                   : error_set(err, why.code, "%s", why.text);
    rc = attempt_planner_plan(ex->spec.planner, &plan, &why);
    ex->regained = rc < 0 && why.code == RAYTRAIN_EFIT && lost_regain(ex);
    if (ex->regained)
        rc = attempt_planner_plan(ex->spec.planner, &plan, &why);
    if (rc < 0) {
        if (why.code != RAYTRAIN_EFIT)
            return error_set(err, why.code, "%s", why.text);
        out->status = RUN_STOPPED;
        snprintf(out->missing, sizeof out->missing, "%s", why.text);
        return 0;
    }
    placement_clear(&ex->plan);
    ex->plan = plan;
    ex->spec.plan = &ex->plan;
    ex->spec.overlap = ex->spec.overlap || attempt_planner_had_losses(ex->spec.planner);
    return 1;
}

static void plan_announce(struct backend_executor *ex)
{
    callback_note(ex->callbacks,
                  "going on from the latest checkpoint with %d worker%s on %zu node%s",
                  ex->plan.workers, ex->plan.workers == 1 ? "" : "s", ex->plan.n_nodes,
                  ex->plan.n_nodes == 1 ? "" : "s");
}

/* Ask FailureConfig what to do about the attempt that has just failed. */
static struct restart_decision restart_decide(struct backend_executor *ex,
                                              struct run_outcome *out)
{
    const struct failure *f = &out->failure;
    const struct failed_attempt attempt = {
        .cause = ex->finding.cause,
        .final = f->final,
        .never_started = f->never_started,
        .rank = f->rank,
        .signal = f->signal,
        .exit_status = f->exit_status,
        .seconds = clock_now() - ex->view.started,
        .checkpoint = checkpoint_manager_newest(ex->spec.run_dir),
        .iteration = ex->iteration,
    };
    struct restart_decision d = restart_policy_decide(&ex->policy, &attempt);
    size_t used = strlen(out->failure.message);

    if (d.why[0])
        snprintf(out->failure.message + used, sizeof out->failure.message - used,
                 "; %s", d.why);
    return d;
}

static void restart_announce(struct backend_executor *ex, const struct failure *f,
                             const struct restart_decision *d)
{
    char where[300] = "", of[32] = "", after[64] = "", which[80] = "";
    bool preempted = ex->finding.cause == CAUSE_PREEMPTED;

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
    callback_note(ex->callbacks,
                  "attempt %d %s: %s%s\n"
                  "  restarting from the latest checkpoint%s%s",
                  ex->spec.attempt, preempted ? "was preempted" : "failed", where,
                  f->message, after, which);
}

/* Is there to be another attempt? */
static bool restart(struct backend_executor *ex, struct run_outcome *out)
{
    struct restart_decision d;

    if ((out->status != RUN_FAILED && !ex->verdict.goes_on) || ex->view.stopping ||
        ex->stop.count)
        return false;
    d = restart_decide(ex, out);
    if (!d.restart)
        return false;
    restart_announce(ex, &out->failure, &d);
    if (restart_wait(ex, d.delay_s))
        return true;
    run_stop(ex, out);
    return false;
}

static int executor_open(struct backend_executor *ex, struct error *err)
{
    const struct itimerspec every = {.it_interval.tv_nsec = FOLLOW_EVERY_MS * 1000000L,
                                     .it_value.tv_nsec = FOLLOW_EVERY_MS * 1000000L};

    if (stop_request_open(&ex->stop, err) < 0)
        return -1;
    ex->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (ex->timer_fd < 0 || timerfd_settime(ex->timer_fd, 0, &every, NULL) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "timerfd: %s", strerror(errno));
    return metrics_collector_open(ex->spec.run_dir, &ex->reports, err);
}

static void executor_close(struct backend_executor *ex)
{
    metrics_collector_close(ex->reports);
    if (ex->timer_fd >= 0)
        close(ex->timer_fd);
    stop_request_close(&ex->stop);
}

/* The attempt before may have ended with its launcher: nobody has tidied behind it. */
static void previous_tidy(const struct worker_group_spec *spec)
{
    char *log_dir =
        spec->attempt > 0 ? run_dir_log_dir(spec->run_dir, spec->attempt - 1) : NULL;

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

/* result.json is complete, unless the run is another's by now. */
static int reports_settle(struct backend_executor *ex, struct error *err)
{
    if (!ex->reports || run_lock_check(ex->spec.lock, NULL) < 0)
        return 0;
    return metrics_collector_settle(ex->reports, err);
}

int backend_executor_run(const struct worker_group_spec *spec,
                         struct callback_list *callbacks, struct run_outcome *outcome,
                         struct error *err)
{
    struct backend_executor ex = {
        .spec = *spec, .callbacks = callbacks, .stop.fd = -1, .timer_fd = -1};
    int rc = executor_open(&ex, err), workers;

    previous_tidy(spec);
    restart_policy_init(&ex.policy, &spec->cfg->run_config.failure_config,
                        checkpoint_manager_newest(spec->run_dir));
    memset(outcome, 0, sizeof *outcome);
    while (rc == 0) {
        rc = attempt_run(&ex, outcome, err);
        outcome->attempts++;
        if (rc < 0 || is_over(&ex, outcome))
            break;
        workers = ex.spec.plan->workers;
        rc = replan(&ex, outcome, err);
        if (rc <= 0)
            break;
        rc = 0;
        if (!is_excused(&ex, outcome) && !restart(&ex, outcome))
            break;
        if (is_excused(&ex, outcome) || ex.plan.workers != workers)
            plan_announce(&ex);
        ex.spec.attempt++;
    }
    if (rc < 0 || !ex.left_together)
        node_memory_clear(&ex.spec);
    placement_clear(&ex.plan);
    if (reports_settle(&ex, rc == 0 ? err : NULL) < 0)
        rc = -1;
    executor_close(&ex);
    return rc;
}
