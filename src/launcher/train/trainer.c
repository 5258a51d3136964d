/* trainer.c - fit(), what a run directory allows, and dry runs. Attempts are made by
 * backend_executor.c. */
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_diff.h"
#include "config/storage_advice.h"
#include "run/checkpoint_manager.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "train/aside.h"
#include "train/attempt.h"
#include "train/made_rows.h"
#include "train/reconfigure.h"
#include "train/shipped_function.h"
#include "train/start_point.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/run_record.h"

/* Does the Result of the run have this status? */
static bool result_is(const char *run_dir, enum run_status ended)
{
    char *result = run_dir_file(run_dir, "result.h5"), *status = NULL;
    bool is = result && metrics_read_status(result, &status, NULL) == 0 && status &&
              strcmp(status, run_status_name(ended)) == 0;

    free(status);
    free(result);
    return is;
}

/* Callbacks do not change the training. */
static bool is_same_training(const char *before, const char *now)
{
    struct config_changes changes;
    bool same = strcmp(before, now) == 0;

    if (same || config_diff(before, now, &changes, NULL) < 0)
        return same;
    same = changes.n == 1 && strcmp(changes.list[0].key, "run_config.callbacks") == 0;
    config_changes_clear(&changes);
    return same;
}

/* Has the run finished with this configuration? */
static bool is_finished(const char *run_dir, const char *config)
{
    char *path = run_dir_file(run_dir, "run.cfg"), *previous = NULL;
    size_t n;
    bool finished = false;

    if (path && result_is(run_dir, RUN_FINISHED) &&
        record_read(path, RECORD_OF_RUN, &previous, &n, NULL) == 0)
        finished = n == strlen(previous) && is_same_training(previous, config);
    free(previous);
    free(path);
    return finished;
}

static int config_save(const char *run_dir, const char *config, struct error *err)
{
    char *path = run_dir_file(run_dir, "run.cfg");
    int rc;

    if (!path)
        return error_no_memory(err);
    rc = fs_write_atomic(path, config, strlen(config), 0644, err);
    free(path);
    return rc;
}

/* Make the attempts, in a run directory locked by this process. An earlier Result is
 * removed before its configuration is replaced: if both exist, they must agree. */
static int run_attempts_make(struct run *run, const struct run_dir *dir,
                             struct run_outcome *outcome, struct error *err)
{
    char *marker = NULL;
    int rc = -1;

    fault_point("run.entered", 0);
    if (result_remove(dir->path, err) == 0 &&
        config_save(dir->path, run->config, err) == 0 &&
        fault_point("run.config", 0) == 0 && shipped_function_keep(run, err) == 0 &&
        run_dir_write_marker(dir, run->config, &marker, err) == 0) {
        run->marker = marker;
        fault_point("run.marker", 0);
        rc = backend_executor_run(run, outcome, err);
    }
    free(marker);
    return rc;
}

struct result_task {
    const struct run *run;
    const struct run_outcome *outcome;
    bool again; /* the Result exists already */
};

static int result_work(void *arg, json_t **result, struct error *err)
{
    const struct result_task *task = arg;
    const struct run *run = task->run;
    struct metrics_table reports = {0};
    int rc = metrics_load_table(run->dir, &reports, err);

    if (rc == 0)
        rc = result_create(run->dir, run->cfg, task->outcome, &reports, result, err);
    if (rc == 0 && !task->again)
        rc = result_write(run->dir, &reports, *result, err);
    metrics_table_clear(&reports);
    return rc;
}

/* Make the Result, and write it unless it exists already. If the lock is lost, another
 * process owns the run, and its Result. */
static int result_make(struct run *run, const struct run_outcome *outcome, bool again,
                       json_t **result, struct error *err)
{
    struct result_task task = {run, outcome, again};
    int rc = -1;

    if (!again)
        fault_point("run.attempts", 0);
    if (run_lock_check(run->lock, err) == 0)
        rc = aside(run, again ? "read the result" : "write the result", result_work,
                   &task, result, err);
    if (rc < 0) {
        result_tidy(run->dir);
        return -1;
    }
    if (!again)
        fault_point("run.result", 0);
    callback_end(run->callbacks, *result);
    return 0;
}

static bool is_wanted(void *arg)
{
    struct run *run = arg;

    return event_loop_turn(run->loop, 0, NULL) >= 0 && !run->stop.count;
}

/* The start of the run for the record of the first attempt, or from it. */
static int start_measure(struct run *run, struct error *err)
{
    if (predict_config_predicts(&run->cfg->predict))
        return 0;
    if (run_dir_last_attempt(run->dir) >= 0)
        return start_point_check(run->dir, run->cfg, err);
    return run_start_measure(run->cfg->resume_from_checkpoint, is_wanted, run,
                             &run->start, err);
}

/* A note if the command line names the checkpoint that the run was started from. */
static void start_report(const struct run *run)
{
    int64_t newest = checkpoint_manager_newest(run->dir);

    if (run->opt->warm && newest >= 0 && !run->opt->quiet)
        callback_note(run->callbacks,
                      "the run was started from %s before: it continues from its own "
                      "newest checkpoint, of iteration %lld",
                      run->cfg->resume_from_checkpoint, (long long)newest);
}

/* A note about idle nodes, which are paid for: PACK and small groups do not use all
 * nodes. */
static void idle_report(const struct run *run)
{
    size_t n_nodes, idle = attempt_planner_idle(run->planner, &run->plan, &n_nodes);

    if (idle == 0 || run->opt->quiet)
        return;
    callback_note(run->callbacks, "%zu of %zu nodes %s no worker: %s", idle, n_nodes,
                  idle == 1 ? "has" : "have",
                  (size_t)run->plan.workers >= n_nodes
                      ? "--placement SPREAD uses all of them"
                      : "start more --workers, or allocate fewer nodes");
}

static int fit_in(struct run *run, const struct run_dir *dir, bool existed, bool again,
                  struct run_outcome *outcome, json_t **result, struct error *err)
{
    if (existed && !again && !run->opt->quiet)
        reconfigure_report(run->dir, run->config, run->callbacks);
    if (existed && !again)
        start_report(run);
    if (!again)
        idle_report(run);
    if (!again && start_measure(run, err) < 0)
        return -1;
    if (!again && run_attempts_make(run, dir, outcome, err) < 0)
        return -1;
    if (result_make(run, outcome, again, result, err) < 0)
        return -1;
    if (outcome->status == RUN_FINISHED)
        made_rows_remove(run);
    return 0;
}

/* Runs with the callbacks of the configuration. */
static int fit_with_callbacks(struct run *run, const struct run_dir *dir, bool existed,
                              const char *set_aside, struct run_outcome *outcome,
                              json_t **result, bool *again, struct error *err)
{
    struct callback_context context = {
        .cfg = run->cfg, .opt = run->opt, .run_dir = dir->path, .loop = run->loop};
    struct callback_list callbacks;
    char *config = NULL;
    int rc = -1;

    if ((existed && reconfigure_check(dir->path, run->cfg, err) < 0) ||
        train_config_render(run->cfg, &config, err) < 0)
        return -1;
    run->config = config;
    run->callbacks = &callbacks;
    *again = existed && !run->calls_again && is_finished(run->dir, run->config);
    context.finished = *again;
    if (callback_list_create(&callbacks, &context, err) == 0) {
        if (set_aside)
            callback_note(&callbacks, "the earlier run is now %s", set_aside);
        rc = fit_in(run, dir, existed, *again, outcome, result, err);
        callback_list_destroy(&callbacks);
    }
    free(config);
    return rc;
}

static int fit_planned(struct run *run, enum run_dir_mode mode,
                       void (*report)(const char *text), struct run_outcome *outcome,
                       json_t **result, bool *again, struct error *err)
{
    const struct run_config *cfg = &run->cfg->run_config;
    struct run_dir dir;
    char *set_aside = NULL;
    bool existed;
    int rc = -1;

    if (run_dir_enter(cfg->storage_path, cfg->name, mode, report, &dir, &existed,
                      &set_aside, err) < 0)
        return -1;
    run->dir = dir.path;
    run->lock = dir.lock;
    if (run_open(run, err) == 0)
        rc = fit_with_callbacks(run, &dir, existed, set_aside, outcome, result, again,
                                err);
    if (rc < 0 && !existed)
        run_dir_abandon(&dir, set_aside);
    else
        run_dir_leave(&dir);
    free(set_aside);
    return rc;
}

int trainer_check(const struct trainer *trainer, struct error *err)
{
    const struct run_config *run = &trainer->cfg->run_config;
    char *run_dir;
    int rc;

    if (!trainer->opt->resume)
        return 0;
    if (!(run_dir = run_dir_file(run->storage_path, run->name)))
        return error_no_memory(err);
    rc = reconfigure_check(run_dir, trainer->cfg, err);
    free(run_dir);
    return rc;
}

enum run_standing trainer_standing(const struct trainer *trainer)
{
    const struct run_config *run = &trainer->cfg->run_config;
    char *run_dir = run_dir_file(run->storage_path, run->name), *config = NULL;
    enum run_standing standing = RUN_NOT_BEGUN;

    if (!run_dir || train_config_render(trainer->cfg, &config, NULL) < 0)
        standing = RUN_NOT_BEGUN;
    else if (is_finished(run_dir, config))
        standing = RUN_HAS_FINISHED;
    else if (result_is(run_dir, RUN_STOPPED))
        standing = RUN_HAS_STOPPED;
    else if (result_is(run_dir, RUN_FAILED))
        standing = RUN_HAS_FAILED;
    else if (access(run_dir, F_OK) == 0)
        standing = RUN_INTERRUPTED;
    free(config);
    free(run_dir);
    return standing;
}

bool trainer_has_saved(const struct trainer *trainer)
{
    const struct run_config *run = &trainer->cfg->run_config;
    char *run_dir = run_dir_file(run->storage_path, run->name);
    bool saved = run_dir && checkpoint_manager_newest(run_dir) >= 0;

    free(run_dir);
    return saved || run->sync_config.staging_path;
}

/* Has this training ended before its first checkpoint? Copies in the memory of nodes
 * are removed before the Result is written, so there are none. */
static bool nothing_to_continue(const struct trainer *trainer)
{
    enum run_standing standing;

    if (predict_config_predicts(&trainer->cfg->predict) || trainer_has_saved(trainer))
        return false;
    standing = trainer_standing(trainer);
    return standing == RUN_HAS_FAILED || standing == RUN_HAS_STOPPED;
}

/* Does a new run start, so that the checkpoint must exist? */
static bool starts_anew(const struct trainer *trainer, const char *run_dir)
{
    return trainer->opt->fresh || predict_config_predicts(&trainer->cfg->predict) ||
           access(run_dir, F_OK) < 0 ||
           (!trainer->opt->resume && nothing_to_continue(trainer));
}

int trainer_settle(struct options *opt, struct train_config *cfg, struct error *err)
{
    const struct trainer trainer = {.cfg = cfg, .opt = opt};
    char *run_dir = run_dir_file(cfg->run_config.storage_path, cfg->run_config.name);
    int rc = 0;

    if (!run_dir)
        return error_no_memory(err);
    storage_advice_set(cfg, run_dir);
    if (starts_anew(&trainer, run_dir))
        rc = train_config_check_start(cfg, err);
    else if (opt->resume || opt->warm)
        rc = start_point_settle(run_dir, result_is(run_dir, RUN_FINISHED), opt, cfg,
                                err);
    free(run_dir);
    return rc;
}

/* If there is nothing to continue, the same command line starts again, and the old run
 * is set aside. */
static enum run_dir_mode entry_mode(const struct trainer *trainer)
{
    if (trainer->opt->resume)
        return RUN_DIR_RESUME;
    if (trainer->opt->fresh)
        return RUN_DIR_FRESH;
    return nothing_to_continue(trainer) ? RUN_DIR_FRESH : RUN_DIR_NEW;
}

struct run trainer_run(const struct trainer *trainer)
{
    return (struct run){.cfg = trainer->cfg,
                        .opt = trainer->opt,
                        .launcher = trainer->launcher,
                        .calls_again = trainer->calls_again,
                        .overlap = launcher_in_step(trainer->launcher),
                        .stop = STOP_REQUEST_INIT};
}

int trainer_fit(const struct trainer *trainer, struct run_outcome *outcome,
                json_t **result, bool *again, struct error *err)
{
    struct run run = trainer_run(trainer);
    int rc = -1;

    memset(outcome, 0, sizeof *outcome);
    *result = NULL;
    if (run_plan(&run, err) == 0)
        rc = fit_planned(&run, entry_mode(trainer), trainer->report, outcome, result,
                         again, err);
    run_close(&run);
    if (rc < 0) {
        json_decref(*result);
        *result = NULL;
    }
    return rc;
}
