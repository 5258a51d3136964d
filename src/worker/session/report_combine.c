/*
 * report_combine.c - checks what this rank reports, and combines it with what the
 * others report (report_block.h). report.c does the rest.
 */
#include "session/report_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/devices.h"
#include "rank/event.h"
#include "rank/gpu_watch.h"
#include "rank/stop.h"
#include "session/collectives.h"
#include "session/report_block.h"
#include "session/reports.h"
#include "util/clock.h"

/* ---- This rank's part ---- */

static int name_given_twice(const struct call *call, const char *name,
                            struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL, "%s: metric \"%s\" is given twice",
                     call->name, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A few names are compared one by one, which needs no memory; many are sorted first. */
#define NAMES_FEW 16

static int many_names_differ(const struct call *call, size_t n, struct error *err)
{
    const char **names = malloc(n * sizeof *names);
    int rc = 0;

    if (!names)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        names[i] = call->metrics[i].name;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; rc == 0 && i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = name_given_twice(call, names[i], err);
    free(names);
    return rc;
}

static int names_unique_check(const struct call *call, size_t n, struct error *err)
{
    const raytrain_metric *metrics = call->metrics;

    if (n > NAMES_FEW)
        return many_names_differ(call, n, err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(metrics[i].name, metrics[j].name) == 0)
                return name_given_twice(call, metrics[i].name, err);
    return 0;
}

static int metrics_check(const struct call *call, size_t n, const json_t *typed,
                         struct error *err)
{
    const raytrain_metric *metrics = call->metrics;

    if (!metrics && n > 0)
        return error_set(err, RAYTRAIN_EINVAL, "%s: metrics is NULL", call->name);
    for (size_t i = 0; i < n; i++) {
        if (session_metric_name_check(call->name, metrics[i].name, err) < 0)
            return -1;
        if (json_object_get(typed, metrics[i].name))
            return name_given_twice(call, metrics[i].name, err);
    }
    return names_unique_check(call, n, err);
}

static int combined_alloc(struct combined *c, size_t n, struct error *err)
{
    c->stats = calloc(n + 1, sizeof *c->stats);
    c->values = calloc(n + 1, sizeof *c->values);
    if (!c->stats || !c->values)
        return error_no_memory(err);
    return 0;
}

void report_combined_free(struct combined *c)
{
    free(c->stats);
    free(c->values);
}

static int call_check(const raytrain_context *ctx, const struct call *call, size_t n,
                      struct error *err)
{
    if (devices_check(err) < 0)
        return -1;
    if (call->loose && call->loose->refused)
        return error_set(err, RAYTRAIN_EINVAL, "%s", call->loose->refused);
    if (call->ck && checkpoint_is_restored(call->ck))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: this checkpoint was opened to be read; report one of "
                         "raytrain_checkpoint_create()",
                         call->name);
    return metrics_check(call, n, ctx->typed, err);
}

void report_begin(raytrain_context *ctx, struct combined *c, const struct call *call,
                  struct error *err)
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

/* COLLECTIVE: the ranks do not agree; report which differ. */
static int disagreement_report(raytrain_context *ctx, const struct combined *c,
                               struct error *err)
{
    struct report_face mine;
    struct report_face *all = calloc((size_t)ctx->comm->size, sizeof *all);
    struct error why;
    int rc, ended;

    if (!all)
        return error_no_memory(err);
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

double report_mean_of(const struct combined *c, size_t i)
{
    return c->stats[i].sum / c->ranks;
}

bool report_keeps_rank0(const struct combined *c)
{
    return c->block[LANE_RANK0].max > 0;
}

static void values_fill(struct combined *c, int ranks)
{
    c->ranks = ranks;
    for (size_t i = 0; i < c->report.n_metrics; i++) {
        strcpy(c->values[i].name, c->report.metrics[i].name);
        c->values[i].value =
            report_keeps_rank0(c) ? c->report.metrics[i].value : report_mean_of(c, i);
    }
}

/* COLLECTIVE: give rank 0's values to all ranks, which have the same names. */
static int values_share(raytrain_context *ctx, struct combined *c, struct error *err)
{
    size_t n = c->report.n_metrics;
    double *values = malloc((n + 1) * sizeof *values);
    int rc = values ? 0 : error_no_memory(err);

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

/* COLLECTIVE: give rank 0's metrics to all ranks. */
static int rank0_share(raytrain_context *ctx, struct combined *c, struct error *err)
{
    struct comm *comm = ctx->comm;
    uint64_t n = c->report.n_metrics;
    int rc = 0;

    rest_fill(c); /* other ranks have none */
    values_fill(c, 1);
    if (comm->ops->bcast(comm, &n, sizeof n, 0, err) < 0)
        return -1;
    if (comm->rank != 0) {
        report_combined_free(c);
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

    if (report->kind == REPORT_FINISH)
        strcpy(text, "returned from the training function");
    else
        snprintf(text, CALL_TEXT_MAX, "called %s", report_kind_text(report->kind));
}

/* Note that names differ, only the first time. */
static void names_note(raytrain_context *ctx)
{
    if (!ctx->names_noted && ctx->comm->rank == 0)
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "the workers report metrics of different names: those of rank 0 are "
                  "kept, without mean, minimum and maximum over the workers");
    ctx->names_noted = true;
}

double report_data_waited_s(const raytrain_context *ctx)
{
    double total = -1;

    for (size_t i = 0; i < ctx->env.config->n_datasets; i++)
        if (ctx->datasets[i].shard)
            total = fmax(total, 0) + dataset_waited_s(ctx->datasets[i].shard);
    return total;
}

/* Use the latest sample of the thread that watches the GPUs: a report does not wait for
 * a driver. */
static void gpus_fill(double gpus[REPORT_GPU_FIGURES])
{
    struct gpu_sample sample;
    bool known = gpu_watch_sample(&sample);

    gpus[GPU_UTILIZATION] = known ? sample.utilization : -1;
    gpus[GPU_MEMORY_USED] = known ? sample.memory_used : -1;
    gpus[GPU_MEMORY_TOTAL] = known ? sample.memory_total : -1;
}

int report_combine(raytrain_context *ctx, struct combined *c, struct error *err)
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
    c->report.data_wait_s = report_data_waited_s(ctx) - ctx->data_waited_s;
    gpus_fill(c->report.gpus);
    report_block_fill(c->block, &c->report, comm->rank, comm->size);
    collective_wait_begin(&ctx->waiting,
                          c->report.kind == REPORT_FINISH ? "the end" : "report");
    if (session_match(ctx, &call, c->block, REPORT_BLOCK_MAX, COMM_STAT, COMM_SUM,
                      &lost) < 0)
        return error_set(err, lost.code, "%s", lost.text);
    if (report_block_refused(c->block) || !report_block_agrees(c->block))
        return disagreement_report(ctx, c, err);
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
    /* Other ranks need values only for criteria to stop. */
    return report_keeps_rank0(c) && ctx->env.config->run_config.n_stop > 0
               ? values_share(ctx, c, err)
               : 0;
}
