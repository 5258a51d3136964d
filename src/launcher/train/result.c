/* result.c - the Result composed from the records of the run, and result.h5. */
#include "train/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/attempts.h"
#include "run/checkpoint_manager.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/quote.h"

static json_t *path_or_null(char *path)
{
    json_t *value = path ? json_text(path) : json_null();

    free(path);
    return value;
}

static json_t *result_error(const struct run_outcome *outcome)
{
    json_t *error;

    if (outcome->status != RUN_FAILED)
        return json_null();
    error = failure_json(&outcome->failure);
    if (json_object_set_new(error, "log", json_text(outcome->log.path)) == 0)
        return error;
    json_decref(error);
    return NULL;
}

int result_create(const char *run_dir, const struct train_config *cfg,
                  const struct run_outcome *outcome,
                  const struct metrics_table *reports, json_t **result,
                  struct error *err)
{
    char *best = NULL, *latest = NULL;
    json_t *last;

    if (checkpoint_manager_best(run_dir, &cfg->run_config.checkpoint_config, &best,
                                &latest, err) < 0) {
        return -1;
    }
    last = metrics_table_last(reports);
    *result = json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:s?, s:o}", "status",
                        run_status_name(outcome->status), "path", json_text(run_dir),
                        "metrics", last ? last : json_null(), "checkpoint",
                        path_or_null(latest), "best_checkpoint", path_or_null(best),
                        "attempts", run_dir_last_attempt(run_dir) + 1, "cause",
                        outcome->status == RUN_FINISHED
                            ? NULL
                            : attempt_cause_name(outcome->failure.cause),
                        "error", result_error(outcome));
    if (!*result)
        return error_no_memory(err);
    return 0;
}

int result_write(const char *run_dir, const struct metrics_table *reports,
                 const json_t *result, struct error *err)
{
    json_t *attempts = NULL;
    char *path = run_dir_file(run_dir, "result.h5");
    int rc = -1;

    if (!path)
        return error_no_memory(err);
    if (fault_point("result.write", 0) < 0)
        fs_error(err, "write", path);
    else if (attempts_load(run_dir, false, &attempts, err) == 0)
        rc = metrics_write_h5(path, reports, result, attempts, err);
    json_decref(attempts);
    free(path);
    return rc;
}

void result_tidy(const char *run_dir)
{
    char *path = run_dir_file(run_dir, "result.h5");

    if (path)
        fs_remove_temps(path);
    free(path);
}

int result_remove(const char *run_dir, struct error *err)
{
    char *path = run_dir_file(run_dir, "result.h5");
    int rc = 0;

    if (!path)
        return error_no_memory(err);
    fs_remove_temps(path);
    if (unlink(path) == 0)
        rc = fs_sync_parent(path, err);
    else if (errno != ENOENT)
        rc = fs_error(err, "remove", path);
    free(path);
    return rc;
}
