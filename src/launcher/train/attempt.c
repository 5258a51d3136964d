/*
 * attempt.c - the start of an attempt, its event loop, and its record.
 *
 *   What workers write    reports and events, followed from their files
 *   Requests to stop      from the user, the batch system, a lost lock or a watch
 *   The event loop        until every worker is gone and their own record is read
 *   The record            attempt.json: at the start, when a checkpoint is restored,
 *                         and at the end
 */
#include "train/attempt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/events.h"
#include "protocol/preemption_notice.h"
#include "run/attempt_config.h"
#include "train/attempt_record.h"
#include "util/clock.h"
#include "util/fault.h"

#define FOLLOW_S       0.2  /* how often the files that workers append to are read */
#define HEAR_S         0.1  /* how often events are read by which a group ends */
#define HEAR_SOON_S    0.01 /* the same, after a worker has failed */
#define RECORD_WAIT_S  15.0 /* for the workers' record, after they are gone */
#define OUTPUT_WAIT_S  2.0  /* for output, after the workers are gone */
#define OUTPUT_FLUSH_S 0.2  /* for output, if the channel stays open */
#define SHOWN_WAIT_S   5.0  /* for a terminal that has not accepted all of it */
#define RECORD_EARLY_S 2.0  /* if they never came together */

/* ---- What workers write ---- */

static void on_report(void *arg, struct logged_report *report)
{
    struct attempt *a = arg;

    a->view.last_report = clock_now();
    a->iteration = report->iteration;
    report_pace_add(&a->view.pace, report->time_this_iter_s);
    a->view.save_max_s = fmax(a->view.save_max_s, report->checkpoint_write_s);
    callback_report(a->run->callbacks, report);
}

/* For readers during the run, or after this process was killed. If the record cannot be
 * written now, it is written at the end. */
static void on_restored(struct attempt *a, json_t *checkpoint)
{
    json_object_set(a->record, "checkpoint", checkpoint);
    attempt_save(a->record, a->log_dir, NULL);
}

static void on_event(void *arg, const json_t *event)
{
    struct attempt *a = arg;
    const char *text = json_string_value(json_object_get(event, "text"));
    json_t *checkpoint = json_object_get(event, "checkpoint");
    const char *kind = json_string_value(json_object_get(event, "kind"));
    bool restored = json_is_string(checkpoint);

    worker_group_hear(a->group, event);
    if (kind && strcmp(kind, EVENT_JOINED) == 0) {
        a->view.joined = true;
        return;
    }
    if (kind && strcmp(kind, EVENT_STARTED) == 0) {
        a->listening = true;
        return;
    }
    if (kind && strcmp(kind, EVENT_GPU_ERROR) == 0)
        gpu_error_take(&a->gpu_error, event);
    if (kind && strcmp(kind, EVENT_TOTAL) == 0)
        callback_total(a->run->callbacks,
                       json_integer_value(json_object_get(event, "iterations")));
    if (kind && strcmp(kind, EVENT_PROGRESS) == 0) {
        a->listening = true;
        a->view.last_progress = clock_now();
    }
    if (restored)
        on_restored(a, checkpoint);
    if (text && !(restored && a->run->opt->quiet))
        callback_note(a->run->callbacks, "%s", text);
}

/* If something cannot be read or collected now, the next call tries again, or the end
 * of the run reports it. */
static void follow(struct attempt *a)
{
    events_take(a->log_dir, on_event, a);
    metrics_collector_poll(a->reports, on_report, a, NULL);
}

/* ---- Requests to stop ---- */

/* Pass the request on. It would kill a worker that does not handle the signal yet, so
 * while the group is starting, the request waits until all workers have started. */
static int stop_send(struct attempt *a, struct error *err)
{
    if (!a->view.stopping || !a->listening || a->stop_sent)
        return 0;
    a->stop_sent = true;
    return worker_group_stop(a->group, err);
}

/* Is the allocation, or the machine, about to be taken away? A user at a terminal sends
 * SIGINT, or SIGHUP by closing it. */
static bool is_preemption(const struct attempt *a, const struct failure *why)
{
    int sig = a->run->stop.signal;

    if (why->cause == CAUSE_SIGNAL)
        return sig != SIGINT && sig != SIGHUP;
    return why->cause == CAUSE_TIME_LIMIT || why->cause == CAUSE_PREEMPTED;
}

/* For training that asks for its remaining time. The grace period begins now; the end
 * of the job follows (watch/stop_limits.c). */
static void notice_write(const struct attempt *a)
{
    const struct placement *plan = &a->run->plan;
    int grace_s = a->run->cfg->run_config.grace_s, first = 0;
    json_t *nodes = json_array();
    struct error why;

    for (size_t i = 0; i < plan->n_nodes; i++) {
        preemption_notice_add(nodes, plan->nodes[i].name, first, plan->nodes[i].tasks);
        first += plan->nodes[i].tasks;
    }
    if (preemption_notice_write(a->log_dir, nodes,
                                grace_s > 0 ? clock_unix_double() + grace_s : 0,
                                &why) < 0)
        callback_note(a->run->callbacks,
                      "the workers are not notified of the preemption: %s", why.text);
}

static int workers_stop(struct attempt *a, const struct failure *why, struct error *err)
{
    if (!a->view.stopping && is_preemption(a, why))
        notice_write(a);
    if (!a->view.stopping && !a->ended)
        a->failure = *why;
    a->view.stopping = true;
    return stop_send(a, err);
}

/* Called by the keeper of the lock (run_lock_keep). Another process may own the run
 * now: the workers must not write into it any more. */
static int on_lock_lost(struct attempt *a, struct error *err)
{
    struct failure lost = {.cause = CAUSE_SIGNAL, .rank = -1};

    snprintf(lost.message, sizeof lost.message,
             "the lock of the run is lost: stopping at once");
    callback_note(a->run->callbacks, "%s", lost.message);
    a->failure = lost;
    a->view.stopping = true;
    return worker_group_kill(a->group, err);
}

/* A note about the response to a request, with its sender if that is not the user. */
static void stop_say(const struct attempt *a, const char *what)
{
    const struct stop_request *stop = &a->run->stop;

    if (a->run->opt->attended)
        return;
    if (stop->hurried)
        callback_note(a->run->callbacks, "%s", what);
    else
        callback_note(a->run->callbacks, "%s: %s; %s", strsignal(stop->latest), what,
                      stop_request_hint(stop));
}

/* run->stop has counted another signal. */
static int on_stop_request(struct attempt *a, struct error *err)
{
    struct failure asked = {.cause = CAUSE_SIGNAL, .rank = -1};
    const struct stop_request *stop = &a->run->stop;
    bool again = a->stops > 0;

    a->stops = a->view.requests = stop->count;
    if (run_lock_check(a->run->lock, NULL) < 0)
        return on_lock_lost(a, err);
    if (callback_failed(a->run->callbacks, asked.message, sizeof asked.message))
        asked.cause = CAUSE_CALLBACK;
    if (stop->hurried) {
        if (!a->view.stopping && !a->ended)
            a->failure = asked;
        a->view.stopping = true;
        stop_say(a, "stopping at once");
        return worker_group_kill(a->group, err);
    }
    if (again) { /* the workers know; only their time restarts */
        stop_say(a, "already stopping at the next report");
        return 0;
    }
    follow(a); /* have they started by now? */
    if (workers_stop(a, &asked, err) < 0)
        return -1;
    stop_say(a, "stopping at the next report");
    return 0;
}

/* A watch asks the workers to stop, and continues. */
static int on_watch_stop(struct attempt *a, const struct failure *finding,
                         struct error *err)
{
    if (finding->cause != CAUSE_RESIZE)
        return workers_stop(a, finding, err);
    a->failure = *finding;
    return worker_group_stop_at_checkpoint(a->group, err);
}

/* A watch ends the attempt. If the workers had been asked to stop, that stays the
 * cause, unless a node is lost; if a callback has failed, its message stays, too. */
static int on_watch_end(struct attempt *a, struct failure *finding, struct error *err)
{
    bool lost = finding->cause == CAUSE_NODE_LOST;

    if (a->view.stopping && !lost)
        finding->cause = a->failure.cause;
    if (a->failure.cause != CAUSE_CALLBACK)
        a->failure = *finding;
    a->ended = true;
    return lost ? worker_group_abandon(a->group, err)
                : worker_group_kill(a->group, err);
}

/* ---- The event loop ---- */

/* Read new records, and call the watches. */
static int on_tick(void *arg, struct error *err)
{
    struct attempt *a = arg;
    struct failure finding;
    enum watch_verdict verdict;

    follow(a);
    if (stop_send(a, err) < 0)
        return -1;
    if (a->ended || a->gone > 0)
        return 0;
    a->view.now = clock_now();
    a->view.unix_now = clock_unix_double();
    verdict = watch_set_tick(a->watches, &a->view, &finding);
    if (verdict == WATCH_GOES_ON)
        return 0;
    callback_note(a->run->callbacks, "%s", finding.message);
    return verdict == WATCH_STOP ? on_watch_stop(a, &finding, err)
                                 : on_watch_end(a, &finding, err);
}

/*
 * After the workers have ended: has their record of the end been read? It is not looked
 * up earlier, so that this node does not cache its absence. If the statuses suggest a
 * common end, the record may still be on its way from another node: wait for it, but
 * not if the workers were killed, and only briefly if they have never come together.
 */
static bool end_is_known(struct attempt *a)
{
    double now = clock_now(), limit = a->view.joined ? RECORD_WAIT_S : RECORD_EARLY_S;

    if (a->gone == 0)
        a->gone = now;
    a->end = worker_record_read_end(a->log_dir, a->run->plan.workers);
    return a->end != WORKER_END_NONE || a->outcome.failed ||
           a->outcome.failure.never_started || !a->run->launcher->ask || a->ended ||
           a->run->stop.hurried || now - a->gone > limit;
}

/* The group has news; it is asked after each turn of the loop. */
static int on_group(void *arg, struct error *err)
{
    (void)arg;
    (void)err;
    return 0;
}

static int on_hear(void *arg, struct error *err)
{
    struct attempt *a = arg;

    (void)err;
    events_take(a->log_dir, on_event, a);
    return 0;
}

/* A group that learns from events how its workers end hears them more often. */
static int hear_every(struct attempt *a, double seconds, struct error *err)
{
    if (!worker_group_hears(a->group))
        return 0;
    event_loop_remove(a->run->loop, a->hear_timer);
    a->hear_timer = -1;
    return event_loop_every(a->run->loop, seconds, on_hear, a, &a->hear_timer, err);
}

static int group_advance(struct attempt *a, struct error *err)
{
    if (a->done)
        return 0;
    if (worker_group_advance(a->group, &a->done, &a->outcome, err) < 0)
        return -1;
    if (a->outcome.failed && a->view.failing == 0) {
        a->view.failing = clock_now();
        if (hear_every(a, HEAR_SOON_S, err) < 0)
            return -1;
    }
    if (a->done)
        event_loop_remove(a->run->loop, a->fd);
    return 0;
}

/* The channel stays: what arrives later is shown during the next attempt, or at the end
 * of the group. */
static bool output_is_flushed(struct attempt *a, double waited)
{
    if (!shown_is_idle(a->shown) && waited < OUTPUT_FLUSH_S)
        return false;
    shown_flush(a->shown);
    return true;
}

/* Has all output of the workers been shown? The wait is limited for a terminal that is
 * not read, and for a process that keeps a worker's output open. */
static bool output_is_known(struct attempt *a)
{
    double waited;

    if (a->gone == 0)
        a->gone = clock_now();
    waited = clock_now() - a->gone;
    if (a->outcome.stays)
        return output_is_flushed(a, waited);
    if (!shown_ended(a->shown) && !a->run->stop.hurried && waited < OUTPUT_WAIT_S)
        return false;
    shown_finish(a->shown);
    if (shown_is_read(a->shown))
        return true;
    if (!a->run->stop.hurried && waited < SHOWN_WAIT_S)
        return false;
    callback_note(a->run->callbacks,
                  "the last output of the workers is not shown, because it was not "
                  "read in time: see %s",
                  a->log_dir);
    return true;
}

static int turns(struct attempt *a, struct error *err)
{
    while (!a->done || !output_is_known(a) || !end_is_known(a)) {
        if (event_loop_turn(a->run->loop, -1, err) < 0)
            return -1;
        if (a->run->stop.count > a->stops && on_stop_request(a, err) < 0)
            return -1;
        if (group_advance(a, err) < 0)
            return -1;
    }
    return 0;
}

/* Watch until every worker is gone. */
static int attempt_watch(struct attempt *a, struct error *err)
{
    struct event_loop *loop = a->run->loop;
    int timer = -1, rc = -1;

    a->fd = worker_group_fd(a->group);
    if (event_loop_every(loop, FOLLOW_S, on_tick, a, &timer, err) == 0 &&
        hear_every(a, HEAR_S, err) == 0 &&
        event_loop_add(loop, a->fd, on_group, a, err) == 0)
        rc = turns(a, err);
    event_loop_remove(loop, timer);
    event_loop_remove(loop, a->hear_timer);
    event_loop_remove(loop, a->fd);
    if (rc == 0) {
        follow(a);
        events_finish(a->log_dir, on_event, a);
    }
    return rc;
}

/* ---- The record ---- */

static int record_begin(struct attempt *a, struct error *err)
{
    const struct batch_ops *batch = batch_find();
    const struct run *run = a->run;
    int rc = -1;

    a->record = attempt_create(a->number, launcher_name(run->launcher), &run->plan,
                               run->progress_before);
    if (!a->record ||
        (batch && attempt_job_set(a->record, batch->job_id(), batch->restarts()) < 0) ||
        (a->same_step &&
         json_object_set_new(a->record, ATTEMPT_SAME_STEP_KEY, json_true()) < 0) ||
        (a->number == 0 && run->start.known &&
         json_object_set_new(a->record, RUN_START_KEY, run_start_json(&run->start)) <
             0))
        error_no_memory(err);
    else if (attempt_config_save(a->log_dir, a->run->config, err) == 0 &&
             attempt_save(a->record, a->log_dir, err) == 0)
        rc = metrics_collector_follow(a->reports, a->log_dir, err);
    fault_point("attempt.record", 0);
    if (rc == 0)
        callback_attempt_start(a->run->callbacks, a->record);
    return rc;
}

static int record_end(struct attempt *a, const struct attempt_end *end,
                      struct error *err)
{
    const char *cause = attempt_cause_name(end->failure.cause);
    bool finished = end->status == RUN_FINISHED;
    json_t *record = a->record;
    int rc = json_object_set_new(record, "end", json_real(clock_unix_double()));

    rc |= json_object_set_new(record, "outcome",
                              json_string(run_status_name(end->status)));
    rc |= json_object_set_new(record, "cause",
                              finished ? json_null() : json_string(cause));
    if (!finished)
        rc |= json_object_update_new(record, failure_json(&end->failure));
    if (rc)
        return error_no_memory(err);
    callback_attempt_end(a->run->callbacks, record);
    return attempt_save(record, a->log_dir, err);
}

/* ---- An attempt, from start to end ---- */

static int watches_begin(struct attempt *a, struct error *err)
{
    a->view = (struct watch_view){.cfg = a->run->cfg,
                                  .launcher = a->run->launcher,
                                  .batch = batch_find(),
                                  .plan = &a->run->plan,
                                  .planner = a->run->planner,
                                  .group = a->group,
                                  .signal = worker_group_signal,
                                  .callbacks = a->run->callbacks,
                                  .log_dir = a->log_dir,
                                  .now = clock_now(),
                                  .unix_now = clock_unix_double()};
    a->view.started = a->view.now;
    return watch_set_create(&a->view, &a->watches, err);
}

int attempt_run(struct run *run, int number, int64_t from,
                struct metrics_collector *reports, struct attempt_end *end,
                struct error *err)
{
    struct attempt a = {.run = run,
                        .number = number,
                        .hear_timer = -1,
                        .reports = reports,
                        .outcome.failure = FAILURE_UNKNOWN,
                        .failure = FAILURE_UNKNOWN,
                        .iteration = from};
    int rc = -1;

    if (attempt_start(&a, err) == 0 && record_begin(&a, err) == 0 &&
        watches_begin(&a, err) == 0 && attempt_watch(&a, err) == 0 &&
        attempt_conclude(&a, end, err) == 0)
        rc = record_end(&a, end, err);
    watch_set_destroy(a.watches);
    json_decref(a.record);
    if (rc == 0 && a.outcome.stays) {
        kept_group_put(&run->kept, a.group, a.shown, &run->plan, run->loop);
    } else {
        worker_group_destroy(a.group);
        shown_destroy(a.shown);
    }
    free(a.log_dir);
    return rc;
}
