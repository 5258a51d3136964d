#include "train/worker_group.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/events.h"
#include "protocol/whereabouts.h"
#include "protocol/worker_env.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/argv.h"
#include "util/fault.h"
#include "util/fs.h"

struct worker_group {
    const struct launcher_ops *launcher;
    struct group *group;
    const struct placement *plan;
    const struct attempt_planner *planner;
    char *log_dir;
    bool never_up; /* it could not be started, and may be another time */
    struct launch_outcome outcome; /* then */
};

/* libexec beside the bin directory that this program was started from, so that an
 * installed tree can be moved; else where it was configured to be. */
static int worker_program(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n > 0) {
        self[n] = '\0';
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(self, '/');

            if (!slash)
                break;
            *slash = '\0';
        }
        if ((size_t)snprintf(path, size, "%s/libexec/raytrain/raytrain-worker", self) <
                size &&
            access(path, X_OK) == 0)
            return 0;
    }
    snprintf(path, size, "%s/raytrain-worker", RAYTRAIN_LIBEXECDIR);
    return access(path, X_OK);
}

/* What each rank executes: the training function's own program, or raytrain-worker with
 * the shared object, and the user's arguments. */
static int worker_argv(const struct train_config *cfg, char ***out, struct error *err)
{
    char worker[PATH_MAX];
    char **argv = NULL;
    int rc = 0;

    if (cfg->train_func_kind == TRAIN_FUNC_SHARED_OBJECT) {
        if (worker_program(worker, sizeof worker) < 0)
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "cannot find raytrain-worker (looked at %s): is raytrain "
                             "installed completely?",
                             worker);
        rc = argv_append(&argv, worker, err);
    }
    if (rc == 0)
        rc = argv_append(&argv, cfg->train_func, err);
    for (size_t i = 0; rc == 0 && i < cfg->n_args; i++)
        rc = argv_append(&argv, cfg->args[i], err);
    if (rc < 0)
        argv_free(argv);
    else
        *out = argv;
    return rc;
}

static void launch_spec_fill(const struct worker_group_spec *spec, char **argv,
                             const char *log_dir, struct launch_spec *launch)
{
    *launch = (struct launch_spec){
        .plan = spec->plan,
        .argv = argv,
        .log_dir = log_dir,
        .job_name = spec->cfg->run_config.name,
        .srun_args = spec->opt->srun_args,
        .scaling = &spec->cfg->scaling_config,
        .overlap = spec->overlap,
    };
}

static int environment_export(const struct worker_group_spec *spec, struct error *err)
{
    const struct worker_env env = {
        .run_dir = (char *)spec->run_dir,
        .attempt = spec->attempt,
        .workers = spec->plan->workers,
        .backend = spec->cfg->backend,
        .marker = (char *)spec->marker,
        .gpus = spec->plan->gpus_per_worker,
    };

    return worker_env_export(&env, err);
}

/* Where nodes can be lost, they are to be heard. */
static int heartbeats_make(const struct worker_group_spec *spec, const char *log_dir,
                           struct error *err)
{
    char *dir;
    int rc;

    if (!spec->launcher->ask ||
        spec->cfg->run_config.failure_config.node_timeout_s == 0)
        return 0;
    dir = run_dir_heartbeats(log_dir);
    if (!dir)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = fs_mkdirs(dir, 0777, err);
    free(dir);
    return rc;
}

/* No room for another process, a helper that died: that passes, so that it is for
 * FailureConfig to decide whether it is tried again. */
static int start_failed(struct worker_group *g, const struct error *why,
                        struct error *err)
{
    if (why->code != RAYTRAIN_ENOMEM && why->code != RAYTRAIN_ECOMM)
        return error_set(err, why->code, "%s", why->text);
    g->never_up = true;
    g->outcome = (struct launch_outcome){
        .failed = true, .launch_failed = true, .passes = true, .rank = -1};
    snprintf(g->outcome.detail, sizeof g->outcome.detail, "%.1000s", why->text);
    return 0;
}

static int group_launch(struct worker_group *g, const struct launch_spec *launch,
                        struct error *err)
{
    struct error why;

    if (g->launcher->start(launch, &g->group, &why) == 0)
        return 0;
    g->group = NULL;
    return start_failed(g, &why, err);
}

static int whereabouts_make(const struct placement *plan, const char *log_dir,
                            struct error *err)
{
    int most = 0;

    for (size_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].tasks > most)
            most = plan->nodes[i].tasks;
    return whereabouts_create(log_dir, (int)plan->n_nodes, most, err);
}

/* What workers write into, and this process follows. */
static int channels_make(const struct worker_group_spec *spec, const char *log_dir,
                         struct error *err)
{
    if (heartbeats_make(spec, log_dir, err) < 0 || events_create(log_dir, err) < 0 ||
        whereabouts_make(spec->plan, log_dir, err) < 0)
        return -1;
    return journal_create(log_dir, METRICS_JOURNAL, err);
}

int worker_group_start(const struct worker_group_spec *spec, struct worker_group **out,
                       struct error *err)
{
    struct worker_group *g = calloc(1, sizeof *g);
    struct launch_spec launch;
    char **argv = NULL;
    int rc = -1;

    if (!g)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    g->launcher = spec->launcher;
    g->plan = spec->plan;
    g->planner = spec->planner;
    if (run_dir_make_log_dir(spec->run_dir, spec->attempt, &g->log_dir, err) == 0 &&
        channels_make(spec, g->log_dir, err) == 0 &&
        worker_argv(spec->cfg, &argv, err) == 0 && environment_export(spec, err) == 0) {
        launch_spec_fill(spec, argv, g->log_dir, &launch);
        fault_point("group.logs", 0);
        rc = group_launch(g, &launch, err);
    }
    argv_free(argv);
    if (rc < 0) {
        worker_group_destroy(g);
        return -1;
    }
    *out = g;
    return 0;
}

int worker_group_command(const struct worker_group_spec *spec, char ***argv,
                         struct error *err)
{
    struct launch_spec launch;
    char **worker = NULL;
    char *log_dir = run_dir_log_dir(spec->run_dir, spec->attempt);
    int rc = -1;

    if (!log_dir)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (worker_argv(spec->cfg, &worker, err) == 0) {
        launch_spec_fill(spec, worker, log_dir, &launch);
        rc = spec->launcher->command(&launch, argv, err);
    }
    argv_free(worker);
    free(log_dir);
    return rc;
}

const char *worker_group_log_dir(const struct worker_group *g)
{
    return g->log_dir;
}

int worker_group_fd(const struct worker_group *g)
{
    return g->never_up ? -1 : g->launcher->fd(g->group);
}

int worker_group_advance(struct worker_group *g, bool *done,
                         struct launch_outcome *outcome, struct error *err)
{
    struct error why;

    if (!g->never_up && g->launcher->advance(g->group, done, outcome, &why) == 0)
        return 0;
    if (!g->never_up && start_failed(g, &why, err) < 0)
        return -1;
    *done = true;
    *outcome = g->outcome;
    return 0;
}

int worker_group_signal(struct worker_group *g, int sig, struct error *err)
{
    return g->never_up ? 0 : g->launcher->signal(g->group, sig, err);
}

int worker_group_stop(struct worker_group *g, struct error *err)
{
    return worker_group_signal(g, LAUNCHER_STOP_SIGNAL, err);
}

int worker_group_stop_at_checkpoint(struct worker_group *g, struct error *err)
{
    char *path = run_dir_file(g->log_dir, RUN_DIR_RESIZE);
    int rc;

    if (!path)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = fs_write_atomic(path, "", 0, 0666, err);
    free(path);
    return rc;
}

int worker_group_abandon(struct worker_group *g, struct error *err)
{
    int left = 0;

    if (!g->launcher->abandon || g->never_up)
        return worker_group_kill(g, err);
    for (size_t i = 0; i < g->plan->n_nodes; i++)
        if (!attempt_planner_is_lost(g->planner, g->plan->nodes[i].name))
            left += g->plan->nodes[i].tasks;
    return g->launcher->abandon(g->group, left, err);
}

int worker_group_kill(struct worker_group *g, struct error *err)
{
    return g->never_up ? 0 : g->launcher->kill(g->group, err);
}

void worker_group_destroy(struct worker_group *g)
{
    if (!g)
        return;
    if (g->group)
        g->launcher->destroy(g->group);
    free(g->log_dir);
    free(g);
}
