/*
 * report.c - raytrain_report(): combine the metrics, which shows whether the ranks
 * agree (report_combine.c); save the checkpoint; append the line to the attempt's
 * journal, from which the launcher copies it to result.json (run/metrics.h).
 *
 * A checkpoint saved in the background (saving.h) is published after its line; if the
 * run is killed in between, the next report of the same iteration replaces the line. A
 * checkpoint that training waited for is published before its line; if the line is
 * missing, the next start adds it, from the metrics in the checkpoint. So result.json
 * has no gap before the checkpoint, and the reports after the checkpoint are made
 * again.
 */
#include "session/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/devices.h"
#include "rank/event.h"
#include "rank/heartbeat.h"
#include "run/journal.h"
#include "run/run_dir.h"
#include "session/checkpoints.h"
#include "session/collectives.h"
#include "session/preemption.h"
#include "session/report_block.h"
#include "session/report_impl.h"
#include "session/report_line.h"
#include "session/reports.h"
#include "session/setting_notes.h"
#include "util/api_names.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fs.h"

/* ---- Keep ---- */

static void nan_note(const raytrain_context *ctx, const struct combined *c, size_t i)
{
    int rank = (int)c->block[LANE_NAN_RANK].min;

    if (rank < ctx->comm->size)
        event_add(
            ctx->env.log_dir, EVENT_WARNING,
            "metric %s is NaN at iteration %lld (the lowest rank that reported a NaN "
            "is %d)",
            c->values[i].name, (long long)ctx->iteration + 1, rank);
    else
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "the mean of metric %s is NaN at iteration %lld: ranks reported "
                  "infinities of both signs",
                  c->values[i].name, (long long)ctx->iteration + 1);
}

/* Note only the first report with a NaN, since a training that diverges has many. */
static void nan_notes(raytrain_context *ctx, const struct combined *c)
{
    bool any = false;

    for (size_t i = 0; i < c->report.n_metrics; i++) {
        if (!isnan(report_mean_of(c, i)))
            continue;
        any = true;
        if (!ctx->nan_noted)
            nan_note(ctx, c, i);
    }
    ctx->nan_noted = any;
}

/* *ck is NULL once saving owns it. */
static int checkpoint_begin(raytrain_context *ctx, const struct combined *c,
                            struct call *call, struct error *err)
{
    const char *reported = call->loose ? call->loose->reported : NULL;
    raytrain_checkpoint **ck = &call->ck;
    struct checkpoint_meta meta = {
        .run_name = ctx->env.config->run_config.name,
        .training_iteration = ctx->iteration + 1,
        .world_size = ctx->env.world->size,
        .attempt = ctx->env.attempt,
        .time_total_s = c->block[LANE_TIME].max,
        .timestamp = clock_unix(),
        .metrics = c->values,
        .n_metrics = c->report.n_metrics,
    };
    struct comm *comm = session_store_comm(ctx, err);
    char *path;
    int rc;

    if (!comm)
        return -1;
    collective_wait_begin(&ctx->waiting, "checkpoint");
    rc = session_state_save(ctx, comm, *ck, err);
    if (rc == 0 && report_keeps_rank0(c))
        rc = session_reported_save(comm, *ck, reported ? reported : "", err);
    path = run_dir_checkpoint(ctx->env.run_dir, (long)meta.training_iteration);
    if (rc == 0 && !path)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0) {
        rc = saving_begin(ctx->saving, comm, *ck, &meta, path, err);
        *ck = NULL;
    }
    if (rc == 0)
        rc = saving_take(ctx->saving, err);
    free(path);
    return rc;
}

static int report_line_append(raytrain_context *ctx, const struct report_line *line,
                              struct error *err)
{
    report_line_write(line, &ctx->line);
    if (ctx->line.no_memory)
        return error_no_memory(err);
    return journal_append(ctx->journal, ctx->line.text, ctx->line.n, err);
}

static const char *checkpoint_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Rank 0: write the line. */
static int report_keep(raytrain_context *ctx, const struct combined *c,
                       bool has_checkpoint, const char *reported, const char *workers,
                       struct error *err)
{
    double now = clock_now();
    char *path = run_dir_checkpoint(ctx->env.run_dir, (long)(ctx->iteration + 1));
    struct report_line line = {
        .training_iteration = ctx->iteration + 1,
        .time_total_s = c->block[LANE_TIME].max,
        .time_this_iter_s = now - ctx->last_report,
        .data_wait_s = c->block[LANE_DATA_WAIT].max,
        .gpus = c->block + LANE_GPUS,
        .rank0_gpus = c->report.gpus,
        .time_since_restore = now - ctx->started,
        .timestamp = clock_unix(),
        .iterations_since_restore = ctx->iterations_since_restore + 1,
        .hostname = ctx->env.world->host,
        .attempt = ctx->env.attempt,
        .world_size = ctx->env.world->size,
        .values = c->values,
        .n_metrics = c->report.n_metrics,
        .reported = reported,
        .workers = workers,
        .rank0 = c->report.metrics,
        .stats = c->stats,
        .stat_ranks = c->ranks,
        .typed = ctx->typed,
    };
    struct saving_figures saved;
    int rc;

    if (!path)
        return error_no_memory(err);
    if (has_checkpoint) {
        saving_figures(ctx->saving, &saved);
        line.saved = &saved;
        line.checkpoint = checkpoint_base(path);
    }
    nan_notes(ctx, c);
    if (fault_point("report.line", 0) < 0)
        rc = fs_error(err, "write", journal_path(ctx->journal));
    else
        rc = report_line_append(ctx, &line, err);
    if (rc == 0)
        fault_point("report.written", 0);
    free(path);
    return rc;
}

/* ---- Stop? ---- */

/* A criterion may also name one of the keys that every report has. */
static bool criterion_value(const raytrain_context *ctx, const struct combined *c,
                            const char *name, double *value)
{
    const struct {
        const char *name;
        double value;
    } always[] = {
        {"training_iteration", (double)ctx->iteration},
        {"iterations_since_restore", (double)ctx->iterations_since_restore},
        {"time_total_s", c->block[LANE_TIME].max},
    };

    for (size_t i = 0; i < c->report.n_metrics; i++) {
        *value = c->values[i].value;
        if (strcmp(c->values[i].name, name) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        *value = always[i].value;
        if (strcmp(always[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool criteria_met(raytrain_context *ctx, const struct combined *c)
{
    const struct run_config *run = &ctx->env.config->run_config;
    bool met = false;

    for (size_t i = 0; i < run->n_stop; i++) {
        double value;

        if (criterion_value(ctx, c, run->stop[i].metric, &value))
            met = met || value >= run->stop[i].value;
        else if (!ctx->criteria_checked && ctx->comm->rank == 0)
            event_add(ctx->env.log_dir, EVENT_WARNING,
                      "run_config.stop names %s, but the first report has no metric of "
                      "that name",
                      run->stop[i].metric);
    }
    ctx->criteria_checked = true;
    return met;
}

/* All ranks have the same numbers, so they decide alike. A training function that asks
 * when to save may save first: it stops with the next report. */
static void stop_decide(raytrain_context *ctx, const struct combined *c, bool saved)
{
    bool known = ctx->stop_reason != STOP_NO, asks = c->block[LANE_ASKS].max > 0;

    if (criteria_met(ctx, c))
        ctx->stop_reason = STOP_CRITERIA;
    else if (!known && c->block[LANE_STOP].max > 0)
        ctx->stop_reason = STOP_ASKED;
    if (ctx->stop_reason != STOP_NO && (known || saved || !asks))
        ctx->should_stop = true;
    session_schedule_report(ctx, c->block[LANE_TIME].max, saved, asks);
}

/* ---- The calls ---- */

static int report(raytrain_context *ctx, struct combined *c, struct call *call)
{
    struct error *err = &ctx->error;
    const char *reported = call->loose ? call->loose->reported : NULL;
    char *workers = NULL;
    bool has_checkpoint;
    int rc = 0;

    saving_release(ctx->saving);
    /* Its outcome is sent in the block: report_combine() fails on every rank. */
    report_begin(ctx, c, call, err);
    if (report_combine(ctx, c, err) < 0)
        return -1;
    if (c->block[LANE_SAVE_FAILED].max > 0 && saving_drain(ctx->saving, err) < 0)
        return -1;
    has_checkpoint = c->block[LANE_CHECKPOINT].max > 0;
    if (has_checkpoint && call->loose &&
        call->loose->make(call->loose->make_arg, &call->ck, err) < 0)
        return -1;
    if (has_checkpoint && checkpoint_begin(ctx, c, call, err) < 0)
        return -1;
    if (c->block[LANE_GATHERS].max > 0)
        rc = session_worker_reports(ctx, reported, &workers, err);
    if (rc == 0 && ctx->comm->rank == 0)
        rc = report_keep(ctx, c, has_checkpoint, reported, workers, err);
    free(workers);
    if (comm_agree(ctx->comm, rc, err) < 0)
        return -1;
    saving_go(ctx->saving);
    ctx->iteration++;
    if (ctx->iterations_since_restore++ == 0)
        setting_notes(ctx, c->values, c->report.n_metrics, report_keeps_rank0(c));
    ctx->last_report = clock_now();
    heartbeat_reported();
    ctx->data_waited_s = fmax(report_data_waited_s(ctx), 0);
    stop_decide(ctx, c, has_checkpoint);
    return 0;
}

/* Typed metrics belong to one report, also if it fails. */
static void typed_forget(raytrain_context *ctx)
{
    json_decref(ctx->typed);
    ctx->typed = NULL;
}

static int report_call(raytrain_context *ctx, struct call call)
{
    struct combined c = {0};
    int rc;

    if (!ctx) {
        raytrain_checkpoint_discard(call.ck);
        return session_null(ctx, call.name, "context");
    }
    rc = report(ctx, &c, &call);
    report_combined_free(&c);
    raytrain_checkpoint_discard(call.ck);
    typed_forget(ctx);
    return session_status(ctx, rc);
}

int raytrain_report(raytrain_context *ctx, const raytrain_metric metrics[],
                    size_t n_metrics, raytrain_checkpoint *ck)
{
    return report_call(
        ctx, (struct call){__func__, REPORT_METRICS, metrics, n_metrics, ck, NULL});
}

int raytrain_report_rank0(raytrain_context *ctx, const raytrain_metric metrics[],
                          size_t n_metrics, raytrain_checkpoint *ck)
{
    return report_call(
        ctx, (struct call){__func__, REPORT_RANK0, metrics, n_metrics, ck, NULL});
}

/* A training that never asks is ended by its report: at a checkpoint, or at once if the
 * run has met a criterion of run_config.stop. One that asks about preemptions continues
 * until it returns, or its workers are killed. */
static int leave_decide(raytrain_context *ctx, const struct combined *c,
                        struct loose_report *r)
{
    ctx->stop_asked = c->block[LANE_ASKS_STOP].max > 0;
    r->leave =
        ctx->should_stop && !ctx->stop_asked &&
        (ctx->stop_reason == STOP_CRITERIA || (r->saved && !preemption_goes_on(ctx)));
    return r->leave ? saving_drain(ctx->saving, &ctx->error) : 0;
}

int session_report_loose(raytrain_context *ctx, struct loose_report *r,
                         struct error *err)
{
    struct combined c = {0};
    struct call call = {"report", REPORT_LOOSE, r->metrics, r->n_metrics, NULL, r};
    int rc = report(ctx, &c, &call);

    r->saved = rc == 0 && c.block[LANE_CHECKPOINT].max > 0;
    if (rc == 0)
        rc = leave_decide(ctx, &c, r);
    report_combined_free(&c);
    raytrain_checkpoint_discard(call.ck);
    typed_forget(ctx);
    return rc == 0 ? 0 : error_set(err, ctx->error.code, "%s", ctx->error.text);
}

bool raytrain_should_stop(const raytrain_context *ctx)
{
    return ctx && ctx->should_stop;
}

int64_t raytrain_training_iteration(const raytrain_context *ctx)
{
    return ctx ? ctx->iteration : 0;
}

int session_report_finish(raytrain_context *ctx, struct error *err)
{
    struct combined c = {.report = {.kind = REPORT_FINISH}};

    c.report.refused = devices_check(err) < 0;
    if (report_combine(ctx, &c, err) < 0)
        return -1;
    if (c.block[LANE_ENDED].max > 0) {
        ctx->stop_reason = STOP_ASKED;
        ctx->should_stop = true;
    }
    return 0;
}

int session_report_mend(raytrain_context *ctx, struct error *err)
{
    const struct checkpoint_meta *meta;
    struct report_line line;
    char *reported;
    int rc;

    if (!ctx->restored_own)
        return 0;
    if (session_reported_get(ctx->restored, &reported, err) < 0)
        return -1;
    meta = checkpoint_meta(ctx->restored);
    line = (struct report_line){
        .training_iteration = meta->training_iteration,
        .time_total_s = meta->time_total_s,
        .data_wait_s = -1,
        .timestamp = meta->timestamp,
        .hostname = ctx->env.world->host,
        .attempt = meta->attempt,
        .world_size = meta->world_size,
        .checkpoint = checkpoint_base(checkpoint_path(ctx->restored)),
        .values = meta->metrics,
        .n_metrics = meta->n_metrics,
        .reported = reported,
        .if_missing = true,
    };
    rc = report_line_append(ctx, &line, err);
    free(reported);
    return rc;
}
