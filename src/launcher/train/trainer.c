#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/checkpoint_manager.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "train/reconfigure.h"
#include "train/stop_request.h"
#include "util/argv.h"
#include "util/fault.h"
#include "util/fs.h"

static enum run_dir_mode entry_mode(const struct options *opt)
{
    if (opt->fresh)
        return RUN_DIR_FRESH;
    return opt->resume ? RUN_DIR_RESUME : RUN_DIR_NEW;
}

/* Does the Result of RUN say that it ended so? */
static bool result_is(const char *run_dir, enum run_status ended)
{
    char *result = run_dir_file(run_dir, "result.h5"), *status = NULL;
    bool is = result && metrics_read_status(result, &status, NULL) == 0 && status &&
              strcmp(status, run_status_name(ended)) == 0;

    free(status);
    free(result);
    return is;
}

/* Does RUN hold the Result of exactly this configuration? */
static bool is_finished(const char *run_dir, const char *config)
{
    char *path = run_dir_file(run_dir, "run.cfg"), *previous = NULL;
    size_t n;
    bool finished = false;

    if (path && result_is(run_dir, RUN_FINISHED) &&
        fs_read(path, &previous, &n, NULL) == 0)
        finished = n == strlen(config) && memcmp(previous, config, n) == 0;
    free(previous);
    free(path);
    return finished;
}

static int config_save(const char *run_dir, const char *config, struct error *err)
{
    char *path = run_dir_file(run_dir, "run.cfg");
    int rc;

    if (!path)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = fs_write_atomic(path, config, strlen(config), 0666, err);
    free(path);
    return rc;
}

/* The attempts themselves, in a run directory that is ours. An earlier Result goes
 * before its configuration does: who finds both must be able to believe them. */
static int run_attempts(const struct trainer *t, const struct run_dir *dir,
                        const char *config, struct callback_list *callbacks,
                        struct run_outcome *outcome, struct error *err)
{
    char *marker = NULL;
    int rc = -1;

    fault_point("run.entered", 0);
    if (result_remove(dir->path, err) == 0 &&
        config_save(dir->path, config, err) == 0 && fault_point("run.config", 0) == 0 &&
        run_dir_write_marker(dir, &marker, err) == 0) {
        struct worker_group_spec spec = {.launcher = t->launcher,
                                         .cfg = t->cfg,
                                         .opt = t->opt,
                                         .plan = t->plan,
                                         .planner = t->planner,
                                         .overlap = t->surroundings.in_step,
                                         .run_dir = dir->path,
                                         .config = config,
                                         .lock = dir->lock,
                                         .marker = marker,
                                         .attempt =
                                             run_dir_last_attempt(dir->path) + 1};

        fault_point("run.marker", 0);
        rc = backend_executor_run(&spec, callbacks, outcome, err);
    }
    free(marker);
    return rc;
}

static int fit_in(const struct trainer *t, const struct run_dir *dir, bool existed,
                  const char *set_aside, struct run_outcome *outcome, json_t **result,
                  bool *again, struct error *err)
{
    struct callback_list callbacks;
    char *config = NULL;
    int rc = -1;

    if (existed && reconfigure_check(dir->path, t->cfg, err) < 0)
        return -1;
    if (train_config_render(t->cfg, &config, err) < 0)
        return -1;
    if (callback_list_create(&callbacks, t->cfg, t->opt, dir->path, err) < 0) {
        free(config);
        return -1;
    }
    if (set_aside)
        callback_note(&callbacks, "the earlier run is now %s", set_aside);
    *again = existed && is_finished(dir->path, config);
    if (existed && !*again && !t->opt->quiet)
        reconfigure_tell(dir->path, config, &callbacks);
    if (*again)
        rc = 0;
    else
        rc = run_attempts(t, dir, config, &callbacks, outcome, err);
    if (rc == 0) /* or it is another's to tell */
        rc = run_lock_check(dir->lock, err);
    if (rc == 0)
        rc = result_create(dir->path, t->cfg, outcome, result, err);
    if (rc == 0 && !*again) {
        fault_point("run.attempts", 0);
        rc = result_write(dir->path, *result, err);
        fault_point("run.result", 0);
    }
    if (rc == 0)
        callback_end(&callbacks, *result);
    callback_list_destroy(&callbacks);
    free(config);
    return rc;
}

int trainer_fit(const struct trainer *trainer, struct run_outcome *outcome,
                json_t **result, bool *again, struct error *err)
{
    const struct run_config *run = &trainer->cfg->run_config;
    struct stop_request stop;
    struct run_dir dir;
    char *set_aside = NULL;
    bool existed;
    int rc;

    memset(outcome, 0, sizeof *outcome);
    *result = NULL;
    if (run_dir_enter(run->storage_path, run->name, entry_mode(trainer->opt),
                      trainer->tell, &dir, &existed, &set_aside, err) < 0)
        return -1;
    /* From here on until the Result is written no signal ends this process. */
    rc = stop_request_open(&stop, err);
    if (rc == 0)
        rc = fit_in(trainer, &dir, existed, set_aside, outcome, result, again, err);
    stop_request_close(&stop);
    if (rc < 0) {
        json_decref(*result);
        *result = NULL;
    }
    free(set_aside);
    run_dir_leave(&dir);
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
    return saved;
}

int trainer_dry_run(const struct trainer *trainer, FILE *out, struct error *err)
{
    const struct run_config *run = &trainer->cfg->run_config;
    char *config = NULL, *run_dir = run_dir_file(run->storage_path, run->name);
    char **argv = NULL, *line = NULL;
    int rc = -1;

    if (!run_dir)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    const struct worker_group_spec spec = {.launcher = trainer->launcher,
                                           .cfg = trainer->cfg,
                                           .opt = trainer->opt,
                                           .plan = trainer->plan,
                                           .overlap = trainer->surroundings.in_step,
                                           .run_dir = run_dir,
                                           .marker = "",
                                           .attempt = 0};
    if (train_config_render(trainer->cfg, &config, err) == 0 &&
        worker_group_command(&spec, &argv, err) == 0 &&
        argv_join(argv, &line, err) == 0) {
        rc = 0;
        if (fprintf(out, "# %s/run.cfg\n%s\n# command\n%s\n", run_dir, config, line) <
                0 ||
            fflush(out) != 0)
            rc = error_set(err, RAYTRAIN_ESTORAGE, "cannot write to standard output");
    }
    argv_free(argv);
    free(line);
    free(config);
    free(run_dir);
    return rc;
}
