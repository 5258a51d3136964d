/*
 * worker_check.c - starts real workers, as a run does: they must come together, compute
 * a correct sum, and save a checkpoint.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/trial_run.h"

#define WORKER_TOPIC "workers"

static const char remedy_start[] =
    "a run would fail in the same way; fix the findings above first";

/* The last line of a log, or "". */
static const char *last_line(const char *tail)
{
    const char *line = tail;

    for (const char *at = tail; (at = strchr(at, '\n')); at++)
        if (at[1])
            line = at + 1;
    return line;
}

static void failure_report(const struct run_outcome *outcome, struct findings *findings)
{
    const struct failure *f = &outcome->failure;
    const char *said = last_line(outcome->log.tail);
    bool of_storage = f->code == RAYTRAIN_ESTORAGE;
    char where[FAILURE_HOST_MAX + 32] = "";

    if (f->rank >= 0)
        snprintf(where, sizeof where, "rank %d%s%s: ", f->rank,
                 f->host[0] ? " on " : "", f->host);
    finding_add(findings, of_storage ? "storage" : WORKER_TOPIC,
                of_storage ? "seen by workers" : "start", VERDICT_WRONG,
                of_storage
                    ? "choose a directory that all nodes share and may write to, "
                      "with --storage"
                    : remedy_start,
                "%s%s%s%.*s", where, f->message, *said ? "; its log ends with: " : "",
                (int)strcspn(said, "\n"), said);
}

static void success_report(const struct trial_run *trial, struct findings *findings)
{
    const json_t *report = trial->report;
    double saved = json_real_value(json_object_get(report, "checkpoint_s"));
    size_t nodes = json_array_size(json_object_get(report, "nodes"));

    finding_add(findings, WORKER_TOPIC, "run", VERDICT_OK, NULL,
                "%d on %zu node%s, in %.1f s from start to end", trial->workers, nodes,
                nodes == 1 ? "" : "s", trial->took_s);
    if (json_is_true(json_object_get(report, "allreduce")))
        finding_add(findings, WORKER_TOPIC, "sum of all", VERDICT_OK, NULL,
                    "an allreduce has the right result");
    else
        finding_add(findings, WORKER_TOPIC, "sum of all", VERDICT_WRONG, remedy_start,
                    "the workers left no report of their sum");
    if (saved > 0)
        finding_add(findings, WORKER_TOPIC, "checkpoint", VERDICT_OK, NULL,
                    "1 MiB saved in %.0f ms", saved * 1e3);
}

static const char *const after_start[] = {"sum of all", "checkpoint", NULL};

/* The workers were not started, or failed before they reported. */
static void report_missing(struct check_context *context, const char *why,
                           const char *how)
{
    context->no_report = why;
    context->report_how = how;
}

static void failure_skip(const json_t *report, struct findings *findings)
{
    /* The sum comes first: a later failure leaves only later steps untried. */
    bool summed = json_is_true(json_object_get(report, "allreduce"));

    findings_skip(findings, WORKER_TOPIC, after_start + summed, remedy_start,
                  "the workers failed before this");
}

/* A directory on this machine, if the storage of runs does not work. */
static char *substitute(const struct check_context *context, struct error *err)
{
    const char *tmp = getenv("TMPDIR");
    char *path = NULL;

    if (context->launcher->allocate) {
        error_set(err, RAYTRAIN_ESTORAGE,
                  "the storage shared by workers does not work");
        return NULL;
    }
    if (asprintf(&path, "%s/raytrain-check-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0)
        path = NULL;
    if (path && mkdtemp(path))
        return path;
    error_set(err, RAYTRAIN_ESTORAGE, "cannot make a directory below TMPDIR or /tmp");
    free(path);
    return NULL;
}

static void trial_report(struct check_context *context, struct trial_run *trial,
                         struct findings *findings)
{
    context->report = json_incref(trial->report);
    context->stopped = trial->outcome.status == RUN_STOPPED;
    if (trial->outcome.status != RUN_FINISHED)
        failure_skip(trial->report, findings);
    if (trial->outcome.status == RUN_FINISHED)
        success_report(trial, findings);
    else if (context->stopped)
        finding_add(findings, WORKER_TOPIC, "run", VERDICT_WARNING,
                    "run the check again", "stopped on request");
    else
        failure_report(&trial->outcome, findings);
}

/* A site may forbid workers on a login node. */
static bool login_refuses(struct check_context *context, struct findings *findings)
{
    struct scaling_config scaling = context->cfg->scaling_config;
    static const char why[] = "the site does not allow workers here";
    static const char how[] = "check in an allocation, or with --launcher slurm, which "
                              "takes one";
    char host[256] = "";
    struct error err;

    gethostname(host, sizeof host - 1);
    if (scaling.num_workers < 2)
        scaling.num_workers = scaling.max_workers = 2;
    if (context->launcher->allocate ||
        site_config_admit(&context->opt->site, host, &scaling, &err) == 0)
        return false;
    finding_add(findings, WORKER_TOPIC, "start", VERDICT_SKIPPED, how, "%s", err.text);
    findings_skip(findings, WORKER_TOPIC, after_start, how, why);
    report_missing(context, why, how);
    return true;
}

static void workers_try(struct check_context *context, const char *storage,
                        struct findings *findings)
{
    struct trial_run trial = {0};
    struct error err;
    int workers;

    if (login_refuses(context, findings))
        return;
    if (launcher_check(context->launcher, context->opt->srun_args, &err) < 0 ||
        trial_run_workers(context, &workers, &err) < 0 ||
        trial_run(context, storage, workers, &trial, &err) < 0) {
        finding_add(findings, WORKER_TOPIC, "start", VERDICT_WRONG, remedy_start, "%s",
                    err.text);
        failure_skip(NULL, findings);
    } else {
        trial_report(context, &trial, findings);
    }
    trial_run_clear(&trial);
}

static void workers_skip(const char *why, const char *how, struct findings *findings)
{
    static const char *const start[] = {"start", NULL};

    findings_skip(findings, WORKER_TOPIC, start, how, why);
    findings_skip(findings, WORKER_TOPIC, after_start, how, why);
}

static void workers_run(struct check_context *context, struct findings *findings)
{
    char *storage = NULL;
    struct error err;

    if (context->storage_works) {
        workers_try(context, context->cfg->run_config.storage_path, findings);
    } else if ((storage = substitute(context, &err))) {
        workers_try(context, storage, findings);
        rmdir(storage);
        free(storage);
    } else {
        workers_skip(err.text, remedy_start, findings);
        report_missing(context, "the workers were not started", remedy_start);
    }
}

static const char *workers_left_out(const struct check_context *context,
                                    const char **how)
{
    *how = "fix the problem with the allocation first";
    return context->unallocated ? "there is no allocation for workers" : NULL;
}

const struct check_ops check_workers = {.topic = WORKER_TOPIC,
                                        .left_out = workers_left_out,
                                        .run = workers_run,
                                        .skip = workers_skip};
