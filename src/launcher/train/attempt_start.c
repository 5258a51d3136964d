/*
 * attempt_start.c - starts the workers of an attempt: their command, their environment,
 * and the files through which they and this process communicate.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/events.h"
#include "protocol/heartbeats.h"
#include "protocol/rank_status.h"
#include "protocol/worker_env.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "train/attempt.h"
#include "util/argv.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/installed.h"
#include "util/rank_choice.h"

/* ---- The command ---- */

int attempt_worker_program(char *path, size_t size, struct error *err)
{
    return installed_program("raytrain-worker", path, size, err);
}

/* The command of each rank: the training function's own program, or raytrain-worker
 * with the shared object, or with "--" and the command, and the user's arguments; or
 * raytrain-worker with a trainer that has its own loop. */
static int worker_argv(const struct train_config *cfg, char ***out, struct error *err)
{
    char worker[PATH_MAX];
    char **argv = NULL;
    int rc = 0;

    if (cfg->train_func_kind != TRAIN_FUNC_PROGRAM) {
        if (attempt_worker_program(worker, sizeof worker, err) < 0)
            return -1;
        rc = argv_append(&argv, worker, err);
    }
    if (rc == 0 && !cfg->train_func)
        rc = argv_append(&argv, "--trainer", err);
    if (rc == 0 && cfg->train_func_kind == TRAIN_FUNC_COMMAND)
        rc = argv_append(&argv, "--", err);
    if (rc == 0)
        rc = argv_append(&argv, cfg->train_func ? cfg->train_func : cfg->trainer, err);
    for (size_t i = 0; rc == 0 && i < cfg->n_args; i++)
        rc = argv_append(&argv, cfg->args[i], err);
    if (rc < 0)
        argv_free(argv);
    else
        *out = argv;
    return rc;
}

/* NULL: the output of no rank is shown. */
static const char *shown_ranks(const struct run *run)
{
    const char *ranks = run->cfg->run_config.show;

    return rank_choice_count(ranks, run->plan.workers) > 0 ? ranks : NULL;
}

/* May another attempt start in the group of this one? */
static bool group_is_kept(const struct run *run)
{
    return run->cfg->run_config.failure_config.same_step && run->launcher->again &&
           !run->launcher->keep_obstacle(run->opt->srun_args);
}

static struct launch_spec launch_spec_of(const struct run *run, char *const *argv,
                                         const char *log_dir)
{
    int grace_s = run->cfg->run_config.grace_s;

    return (struct launch_spec){
        .plan = &run->plan,
        .argv = argv,
        .log_dir = log_dir,
        .job_name = run->cfg->run_config.name,
        .srun_args = run->opt->srun_args,
        .show = shown_ranks(run),
        .channel = -1,
        .reader = -1,
        .scaling = &run->cfg->scaling_config,
        .overlap = run->overlap,
        .keep = group_is_kept(run),
        .finish = {.seconds = grace_s > 0 ? grace_s : FINISH_MAX_S,
                   .run_dir = run->dir,
                   .lock = run->lock},
    };
}

int attempt_command(const struct run *run, char ***argv, struct error *err)
{
    struct launch_spec spec;
    char **worker = NULL, *log_dir = run_dir_log_dir(run->dir, 0);
    int rc = -1;

    if (!log_dir)
        return error_no_memory(err);
    if (worker_argv(run->cfg, &worker, err) == 0) {
        spec = launch_spec_of(run, worker, log_dir);
        rc = run->launcher->command(&spec, argv, err);
    }
    argv_free(worker);
    free(log_dir);
    return rc;
}

/* ---- The environment, and files ---- */

static int environment_export(const struct attempt *a, struct error *err)
{
    const struct run *run = a->run;
    const struct worker_env env = {
        .run_dir = (char *)run->dir,
        .attempt = a->number,
        .workers = run->plan.workers,
        .backend = run->cfg->backend,
        .marker = (char *)run->marker,
        .gpus = run->plan.gpus_per_worker,
        .sharing = run->plan.workers_per_gpu > 1 ? run->plan.workers_per_gpu : 1,
        .predicts = predict_config_predicts(&run->cfg->predict),
    };

    return worker_env_export(&env, err);
}

/* Only if nodes can be lost. */
static int heartbeats_make(const struct attempt *a, struct error *err)
{
    if (!a->run->launcher->ask ||
        a->run->cfg->run_config.failure_config.node_timeout_s == 0)
        return 0;
    return heartbeats_create(a->log_dir, a->run->plan.n_nodes, err);
}

static int rank_status_make(const struct placement *plan, const char *log_dir,
                            struct error *err)
{
    int most = 0;

    for (size_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].tasks > most)
            most = plan->nodes[i].tasks;
    return rank_status_create(log_dir, (int)plan->n_nodes, most, err);
}

/* The files that workers write, and this process follows. */
static int channels_make(const struct attempt *a, struct error *err)
{
    if (heartbeats_make(a, err) < 0 || events_create(a->log_dir, err) < 0 ||
        rank_status_make(&a->run->plan, a->log_dir, err) < 0)
        return -1;
    return journal_create(a->log_dir, METRICS_JOURNAL, err);
}

/* ---- What workers print ---- */

static void on_live(void *arg, const char *line)
{
    callback_live(arg, line);
}

/* A rank that this attempt does not have is not an error: another attempt may have
 * it. */
static void missing_rank_say(const struct attempt *a, const char *ranks)
{
    int highest = rank_choice_highest(ranks);

    if (highest >= a->run->plan.workers && strcmp(ranks, "rank0") != 0)
        callback_note(
            a->run->callbacks,
            "--show %s: there is no rank %d in attempt %d, which has %d worker%s",
            ranks, highest, a->number, a->run->plan.workers,
            a->run->plan.workers == 1 ? "" : "s");
}

/* With --json, standard output has only the result, unless that goes elsewhere. */
static int shown_begin(struct attempt *a, struct launch_spec *spec, struct error *err)
{
    const struct run *run = a->run;
    const struct shown_spec shown = {.ranks = spec->show,
                                     .plan = &run->plan,
                                     .log_dir = a->log_dir,
                                     .loop = run->loop,
                                     .block = callback_draws(run->opt),
                                     .out_is_used =
                                         run->opt->json && !run->opt->result_path,
                                     .live = on_live,
                                     .arg = run->callbacks};

    missing_rank_say(a, run->cfg->run_config.show);
    if (!spec->show)
        return 0;
    if (shown_create(&shown, &a->shown, &spec->channel, err) < 0)
        return -1;
    spec->reader = shown_fd(a->shown);
    return 0;
}

/* ---- The start ---- */

/* In the group of the last attempt, if that stays. */
static bool group_continue(struct attempt *a, const struct launch_spec *spec)
{
    struct kept_group *kept = &a->run->kept;

    if (!kept_group_take(kept, spec->plan, &a->group, &a->shown))
        return false;
    if ((!a->shown || shown_continue(a->shown, a->log_dir, NULL) == 0) &&
        worker_group_again(a->group, spec, NULL) == 0) {
        a->same_step = true;
        return true;
    }
    kept_group_put(kept, a->group, a->shown, spec->plan, a->run->loop);
    kept_group_clear(kept);
    a->group = NULL;
    a->shown = NULL;
    return false;
}

static int group_start(struct attempt *a, char *const *argv, struct error *err)
{
    struct launch_spec spec = launch_spec_of(a->run, argv, a->log_dir);
    int rc;

    spec.attempt = a->number;
    if (group_continue(a, &spec))
        return 0;
    rc = shown_begin(a, &spec, err);
    if (rc == 0)
        rc = worker_group_start(a->run->launcher, &spec, a->run->planner, &a->group,
                                err);
    if (spec.channel >= 0)
        close(spec.channel);
    return rc;
}

int attempt_start(struct attempt *a, struct error *err)
{
    char **argv = NULL;
    int rc = -1;

    if (run_dir_make_log_dir(a->run->dir, a->number, &a->log_dir, err) == 0 &&
        channels_make(a, err) == 0 && worker_argv(a->run->cfg, &argv, err) == 0 &&
        environment_export(a, err) == 0) {
        fault_point("group.logs", 0);
        rc = group_start(a, argv, err);
    }
    argv_free(argv);
    if (rc == 0)
        fault_point("group.started", 0);
    return rc;
}
