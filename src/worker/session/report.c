/*
 * report.c - raytrain_report(): one allreduce that combines the metrics and checks that
 * the ranks agree, then the checkpoint, then the line in the attempt's journal, from
 * which the launcher takes it into result.json (run/metrics.h).
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "rank/event.h"
#include "rank/gpu_watch.h"
#include "rank/heartbeat.h"
#include "rank/stop.h"
#include "run/journal.h"
#include "run/run_dir.h"
#include "session/preemption.h"
#include "session/report_block.h"
#include "session/report_line.h"
#include "session/setting_notes.h"
#include "util/clock.h"
#include "util/api_names.h"
#include "util/fault.h"
#include "util/fs.h"

/* A report, and its combination over all ranks. */
struct combined {
    struct report report;
    struct comm_stat block[REPORT_BLOCK_MAX];
    struct comm_stat *stats; /* one a metric */
    int ranks;               /* that they combine */
    /* What the report says: means, or values of rank 0, which are known to the other
     * ranks if they need them. */
    struct checkpoint_metric *values;
};

/* ---- This rank's part ---- */

static int twice(const char *name, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL,
                     "raytrain_report: metric \"%s\" is given twice", name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A few names are compared one by one, which needs no memory; many are sorted first. */
#define NAMES_FEW 16

static int many_names_differ(const raytrain_metric metrics[], size_t n,
                             struct error *err)
{
    const char **names = malloc(n * sizeof *names);
    int rc = 0;

    if (!names)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        names[i] = metrics[i].name;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; rc == 0 && i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = twice(names[i], err);
    free(names);
    return rc;
}

static int names_differ(const raytrain_metric metrics[], size_t n, struct error *err)
{
    if (n > NAMES_FEW)
        return many_names_differ(metrics, n, err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(metrics[i].name, metrics[j].name) == 0)
                return twice(metrics[i].name, err);
    return 0;
}

static int metrics_check(const raytrain_metric metrics[], size_t n, const json_t *typed,
                         struct error *err)
{
    if (!metrics && n > 0)
        return error_set(err, RAYTRAIN_EINVAL, "raytrain_report: metrics is NULL");
    for (size_t i = 0; i < n; i++) {
        if (session_metric_name_check("raytrain_report", metrics[i].name, err) < 0)
            return -1;
        if (json_object_get(typed, metrics[i].name))
            return twice(metrics[i].name, err);
    }
    return names_differ(metrics, n, err);
}

static int combined_alloc(struct combined *c, size_t n, struct error *err)
{
    c->stats = calloc(n + 1, sizeof *c->stats);
    c->values = calloc(n + 1, sizeof *c->values);
    if (!c->stats || !c->values)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

static void combined_free(struct combined *c)
{
    free(c->stats);
    free(c->values);
}

/* What one rank has called. */
struct call {
    enum report_kind kind;
    const raytrain_metric *metrics;
    size_t n;
    raytrain_checkpoint *ck;    /* NULL once saving owns it */
    struct loose_report *loose; /* REPORT_LOOSE: the checkpoint is yet to be made */
};

static int call_check(const raytrain_context *ctx, const struct call *call, size_t n,
                      struct error *err)
{
    if (device_cards_check(err) < 0)
        return -1;
    if (call->loose && call->loose->refused)
        return error_set(err, RAYTRAIN_EINVAL, "%s", call->loose->refused);
    if (call->ck && checkpoint_is_restored(call->ck))
        return error_set(err, RAYTRAIN_EINVAL,
                         "raytrain_report: this checkpoint was opened to be read; "
                         "report one of raytrain_checkpoint_create()");
    return metrics_check(call->metrics, n, ctx->typed, err);
}

/* A rank whose call is wrong takes part all the same: the others are waiting. */
static void report_begin(raytrain_context *ctx, struct combined *c,
                         const struct call *call, struct error *err)
{
    size_t n = call->kind == REPORT_RANK0 && ctx->comm->rank != 0 ? 0 : call->n;
    int rc = call_check(ctx, call, n, err);

    if (rc == 0)
        rc = combined_alloc(c, n, err);
    if (rc == 0)
        c->report = (struct report){.metrics = call->metrics,
                                    .n_metrics = n,
                                    .has_checkpoint = call->ck != NULL};
    else
        c->report = (struct report){.refused = true};
    c->report.kind = call->kind;
    if (rc == 0 && call->loose)
        c->report.has_checkpoint = call->loose->has_checkpoint;
    if (call->loose) {
        c->report.asks_stop = call->loose->asks_stop;
        c->report.keeps_rank0 = call->loose->reported != NULL;
        c->report.gathers = call->loose->gathers;
    }
}

/* ---- All ranks ---- */

/* The ranks do not agree: report which differ. All ranks come here, or none. */
static int disagreement(raytrain_context *ctx, const struct combined *c,
                        struct error *err)
{
    struct report_face mine;
    struct report_face *all = calloc((size_t)ctx->comm->size, sizeof *all);
    struct error why;
    int rc, ended;

    if (!all)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    report_face_fill(&mine, &c->report, err->text);
    rc = ctx->comm->ops->allgather(ctx->comm, &mine, sizeof mine, all, &why);
    ended = rc == 0 ? report_first_ended(all, ctx->comm->size) : -1;
    if (ended >= 0)
        session_over(ctx, ended, &why);
    else if (rc == 0)
        report_disagreement(all, ctx->comm->size, &why);
    free(all);
    /* If this rank's own call was wrong, that is the better message. */
    if (!c->report.refused || ended >= 0)
        error_set(err, why.code, "%s", why.text);
    return -1;
}

static void rest_fill(struct combined *c)
{
    for (size_t i = 0; i < c->report.n_metrics; i++) {
        double value = c->report.metrics[i].value;

        c->stats[i] = (struct comm_stat){.sum = value, .min = value, .max = value};
    }
}

static double mean_of(const struct combined *c, size_t i)
{
    return c->stats[i].sum / c->ranks;
}

static bool keeps_rank0(const struct combined *c)
{
    return c->block[LANE_RANK0].max > 0;
}

static void values_fill(struct combined *c, int ranks)
{
    c->ranks = ranks;
    for (size_t i = 0; i < c->report.n_metrics; i++) {
        strcpy(c->values[i].name, c->report.metrics[i].name);
        c->values[i].value =
            keeps_rank0(c) ? c->report.metrics[i].value : mean_of(c, i);
    }
}

/* COLLECTIVE: the values of rank 0 are the values on all ranks, which have the same
 * names. */
static int values_share(raytrain_context *ctx, struct combined *c, struct error *err)
{
    size_t n = c->report.n_metrics;
    double *values = malloc((n + 1) * sizeof *values);
    int rc = values ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    rc = comm_agree(ctx->comm, rc, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        values[i] = c->values[i].value;
    if (rc == 0)
        rc = ctx->comm->ops->bcast(ctx->comm, values, n * sizeof *values, 0, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        c->values[i].value = values[i];
    free(values);
    return rc;
}

/* COLLECTIVE: the metrics of rank 0 are those of all. */
static int rank0_share(raytrain_context *ctx, struct combined *c, struct error *err)
{
    struct comm *comm = ctx->comm;
    uint64_t n = c->report.n_metrics;
    int rc = 0;

    rest_fill(c); /* on the others there is none */
    values_fill(c, 1);
    if (comm->ops->bcast(comm, &n, sizeof n, 0, err) < 0)
        return -1;
    if (comm->rank != 0) {
        combined_free(c);
        rc = combined_alloc(c, n, err);
        c->report.metrics = NULL;
        c->report.n_metrics = n;
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && n > 0)
        rc = comm->ops->bcast(comm, c->values, n * sizeof *c->values, 0, err);
    return rc;
}

static void report_say(const void *arg, char text[CALL_TEXT_MAX])
{
    const struct report *report = arg;

    snprintf(text, CALL_TEXT_MAX, "%s",
             report->kind == REPORT_FINISH  ? "returned from the training function"
             : report->kind == REPORT_RANK0 ? "called raytrain_report_rank0()"
             : report->kind == REPORT_LOOSE ? "called report()"
                                            : "called raytrain_report()");
}

/* Only the first time. */
static void names_note(raytrain_context *ctx)
{
    if (!ctx->names_noted && ctx->comm->rank == 0)
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "the workers report metrics of different names: those of rank 0 are "
                  "kept, without mean, minimum and maximum over the workers");
    ctx->names_noted = true;
}

/* For rows of the datasets of the configuration, by this rank in this attempt; -1: it has
 * opened none. */
static double data_waited_s(const raytrain_context *ctx)
{
    double total = -1;

    for (size_t i = 0; i < ctx->env.config->n_datasets; i++)
        if (ctx->datasets[i].shard)
            total = fmax(total, 0) + dataset_waited_s(ctx->datasets[i].shard);
    return total;
}

/* As the thread that watches them saw them last: a report does not wait for a driver. */
static void gpus_fill(double gpus[REPORT_GPU_FIGURES])
{
    struct gpu_sample sample;
    bool known = gpu_watch_sample(&sample);

    gpus[GPU_UTILIZATION] = known ? sample.utilization : -1;
    gpus[GPU_MEMORY_USED] = known ? sample.memory_used : -1;
    gpus[GPU_MEMORY_TOTAL] = known ? sample.memory_total : -1;
}

static int combine(raytrain_context *ctx, struct combined *c, struct error *err)
{
    const struct session_call call = {CALL_REPORT, report_say, &c->report};
    struct comm *comm = ctx->comm;
    size_t n = c->report.n_metrics, inlined = n;
    struct error lost;

    if (inlined > REPORT_INLINE_METRICS)
        inlined = REPORT_INLINE_METRICS;
    c->report.stop = stop_requested() || (c->report.has_checkpoint && comm->rank == 0 &&
                                          stop_resize_requested(ctx->env.log_dir));
    c->report.asks = ctx->schedule.asks;
    c->report.ended = ctx->ended_on_request;
    c->report.save_failed = saving_has_failed(ctx->saving);
    c->report.time_total_s = ctx->time_before + clock_now() - ctx->started;
    c->report.data_wait_s = data_waited_s(ctx) - ctx->data_waited_s;
    gpus_fill(c->report.gpus);
    report_block_fill(c->block, &c->report, comm->rank, comm->size);
    collective_wait_begin(&ctx->waiting,
                          c->report.kind == REPORT_FINISH ? "the end" : "report");
    if (session_match(ctx, &call, c->block, REPORT_BLOCK_MAX, COMM_STAT, COMM_SUM,
                      &lost) < 0)
        return error_set(err, lost.code, "%s", lost.text);
    if (report_block_refused(c->block) || !report_block_agrees(c->block))
        return disagreement(ctx, c, err);
    if (c->report.kind == REPORT_LOOSE && !report_block_has_same_names(c->block))
        names_note(ctx);
    if (c->report.kind == REPORT_RANK0 || !report_block_has_same_names(c->block))
        return rank0_share(ctx, c, err);
    if (n == 0)
        return 0;
    rest_fill(c);
    memcpy(c->stats, c->block + REPORT_LANES, inlined * sizeof c->stats[0]);
    if (n > inlined && comm->ops->allreduce(comm, c->stats + inlined, n - inlined,
                                            COMM_STAT, COMM_SUM, err) < 0)
        return -1;
    values_fill(c, comm->size);
    /* Only criteria to stop are looked at on all ranks. */
    return keeps_rank0(c) && ctx->env.config->run_config.n_stop > 0
               ? values_share(ctx, c, err)
               : 0;
}

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

/* Only the first report with a NaN is noted, not each one of a training that diverges.
 */
static void nan_notes(raytrain_context *ctx, const struct combined *c)
{
    bool any = false;

    for (size_t i = 0; i < c->report.n_metrics; i++) {
        if (!isnan(mean_of(c, i)))
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
    if (rc == 0 && keeps_rank0(c))
        rc = session_reported_save(comm, *ck, reported ? reported : "", err);
    path = run_dir_checkpoint(ctx->env.run_dir, (long)meta.training_iteration);
    if (rc == 0 && !path)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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

static int line_append(raytrain_context *ctx, const struct report_line *line,
                       struct error *err)
{
    report_line_write(line, &ctx->line);
    if (ctx->line.no_memory)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (has_checkpoint) {
        saving_figures(ctx->saving, &saved);
        line.saved = &saved;
        line.checkpoint = checkpoint_base(path);
    }
    nan_notes(ctx, c);
    if (fault_point("report.line", 0) < 0)
        rc = fs_error(err, "write", journal_path(ctx->journal));
    else
        rc = line_append(ctx, &line, err);
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

/* All ranks see the same numbers, so they come to the same decision. A training
 * function that asks when to save may save first: it stops with the next report. */
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
    /* Its outcome is sent in the block: combine() fails on every rank. */
    report_begin(ctx, c, call, err);
    if (combine(ctx, c, err) < 0)
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
        setting_notes(ctx, c->values, c->report.n_metrics, keeps_rank0(c));
    ctx->last_report = clock_now();
    heartbeat_reported();
    ctx->data_waited_s = fmax(data_waited_s(ctx), 0);
    stop_decide(ctx, c, has_checkpoint);
    return 0;
}

/* They are those of one report, also if it fails. */
static void typed_forget(raytrain_context *ctx)
{
    json_decref(ctx->typed);
    ctx->typed = NULL;
}

static int report_call(raytrain_context *ctx, const char *name, struct call call)
{
    struct combined c = {0};
    int rc;

    if (!ctx) {
        raytrain_checkpoint_discard(call.ck);
        return session_null(ctx, name, "context");
    }
    rc = report(ctx, &c, &call);
    combined_free(&c);
    raytrain_checkpoint_discard(call.ck);
    typed_forget(ctx);
    return session_status(ctx, rc);
}

int raytrain_report(raytrain_context *ctx, const raytrain_metric metrics[],
                    size_t n_metrics, raytrain_checkpoint *ck)
{
    return report_call(ctx, "raytrain_report",
                       (struct call){REPORT_METRICS, metrics, n_metrics, ck, NULL});
}

int raytrain_report_rank0(raytrain_context *ctx, const raytrain_metric metrics[],
                          size_t n_metrics, raytrain_checkpoint *ck)
{
    return report_call(ctx, "raytrain_report_rank0",
                       (struct call){REPORT_RANK0, metrics, n_metrics, ck, NULL});
}

/* Training that never asks is ended by its report: at a checkpoint, or at once if the
 * run has reached what it was to reach. One that asks about preemptions goes on until
 * it returns, or its workers are killed. */
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
    struct call call = {REPORT_LOOSE, r->metrics, r->n_metrics, NULL, r};
    int rc = report(ctx, &c, &call);

    r->saved = rc == 0 && c.block[LANE_CHECKPOINT].max > 0;
    if (rc == 0)
        rc = leave_decide(ctx, &c, r);
    combined_free(&c);
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

    c.report.refused = device_cards_check(err) < 0;
    if (combine(ctx, &c, err) < 0)
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
    rc = line_append(ctx, &line, err);
    free(reported);
    return rc;
}
