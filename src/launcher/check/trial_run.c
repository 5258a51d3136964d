/* trial_run.c - the run of a check: its name, its configuration, and its report. */
#include "check/trial_run.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/site_report.h"
#include "run/run_dir.h"
#include "train/attempt.h"
#include "train/trainer.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/run_record.h"

#define NAME_PREFIX ".raytrain-check-"
#define NAME_MAX_   200

/* ---- The name ---- */

/* ".raytrain-check-HOST-PID" */
static void name_make(char name[NAME_MAX_])
{
    char host[128] = "";

    gethostname(host, sizeof host - 1);
    snprintf(name, NAME_MAX_, NAME_PREFIX "%s-%ld", host, (long)getpid());
}

/* Was it left by a check on this host that was killed? Also one with the id of this
 * process: a container uses the same few ids again. */
static bool is_left(const char *name, const char *mine)
{
    const char *end = strrchr(mine, '-') + 1;
    size_t n = (size_t)(end - mine);
    long pid;

    if (strncmp(name, mine, n) != 0 || !name[n] ||
        strspn(name + n, "0123456789") != strlen(name + n))
        return false;
    pid = atol(name + n);
    return pid > 0 && (pid == getpid() || kill((pid_t)pid, 0) < 0);
}

static void left_remove(const char *storage, const char *mine)
{
    DIR *dir = opendir(storage);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char *path = NULL, holder[256];

        if (!is_left(entry->d_name, mine) ||
            !(path = run_dir_file(storage, entry->d_name)))
            continue;
        if (!run_lock_is_held(path, holder))
            fs_remove_tree(path, NULL);
        free(path);
    }
    if (dir)
        closedir(dir);
}

/* ---- Its configuration ---- */

static bool has_room(const struct scaling_config *scaling, int workers,
                     const struct resources *have)
{
    struct scaling_config more = *scaling;
    struct placement plan = {0};
    struct error why;
    bool fits;

    more.num_workers = more.max_workers = workers;
    more.spare_nodes = 0;
    if (more.placement_strategy == PLACEMENT_PACK)
        more.placement_strategy = PLACEMENT_SPREAD;
    fits = placement_plan(&more, have, &plan, &why) == 0;
    placement_clear(&plan);
    return fits;
}

/* At least two workers if there is room, since a machine may have one GPU. */
int trial_run_workers(struct check_context *context, int *workers, struct error *err)
{
    const struct scaling_config *scaling = &context->cfg->scaling_config;
    struct resources have = {0};
    int several;

    if (context->launcher->resources(scaling, &have, err) < 0)
        return -1;
    context->n_nodes = have.n_nodes;
    several = have.n_nodes > 2 ? (int)have.n_nodes : 2;
    *workers = scaling->num_workers;
    if (*workers < 2 && has_room(scaling, several, &have))
        *workers = several;
    resources_clear(&have);
    return 0;
}

static int scaling_take(const struct scaling_config *from, int workers,
                        struct scaling_config *to, struct error *err)
{
    *to = *from;
    to->num_workers = to->max_workers = workers;
    to->spare_nodes = 0;
    if (to->placement_strategy == PLACEMENT_PACK)
        to->placement_strategy = PLACEMENT_SPREAD;
    if (!from->accelerator_type ||
        (to->accelerator_type = strdup(from->accelerator_type)))
        return 0;
    return error_no_memory(err);
}

/* The user's limit counts if it is shorter. */
static void start_limit(struct failure_config *to, const struct failure_config *from)
{
    if (from->start_timeout_s > 0 && from->start_timeout_s < to->start_timeout_s)
        to->start_timeout_s = from->start_timeout_s;
}

/* The training function is a program in place of the user's. */
static int config_make(const struct check_context *context, const char *storage,
                       const char *name, int workers, struct train_config *cfg,
                       struct error *err)
{
    static const struct {
        const char *key, *value;
    } fixed[] = {
        {"run_config.failure_config.start_timeout_s", "60"},
        /* Longer than the probe's own limits and NCCL's (start_timeout_s), whose
         * messages say more. */
        {"run_config.failure_config.hang_timeout_s", "90"},
        {"run_config.failure_config.max_failures", "0"},
        {"run_config.failure_config.max_preemptions", "0"},
        {"run_config.show", "none"},
    };
    char program[4096];
    int rc;

    train_config_init(cfg);
    if (attempt_worker_program(program, sizeof program, err) < 0 ||
        scaling_take(&context->cfg->scaling_config, workers, &cfg->scaling_config,
                     err) < 0)
        return -1;
    rc = train_config_set_text(cfg, "train_func", program, "raytrain-worker", err);
    for (size_t i = 0; rc == 0 && i < sizeof fixed / sizeof *fixed; i++)
        rc = train_config_set_text(cfg, fixed[i].key, fixed[i].value, "--check", err);
    start_limit(&cfg->run_config.failure_config,
                &context->cfg->run_config.failure_config);
    if (rc == 0)
        rc = train_config_set_text(cfg, "run_config.storage_path", storage, "--storage",
                                   err);
    if (rc == 0)
        rc = train_config_set_text(cfg, "run_config.name", name, "--name", err);
    cfg->args = NULL;
    cfg->n_args = 1;
    if (rc == 0)
        rc = argv_append(&cfg->args, SITE_CHECK_ARGUMENT, err);
    return rc < 0 ? -1 : train_config_validate(cfg, err);
}

/* ---- The run ---- */

static json_t *report_read(const char *run_dir)
{
    char *log_dir = run_dir_log_dir(run_dir, 0), *path = NULL, *text = NULL;
    json_t *report = NULL;
    size_t n;

    if (log_dir)
        path = run_dir_file(log_dir, SITE_REPORT);
    if (path && record_read(path, RECORD_OF_ATTEMPT, &text, &n, NULL) == 0)
        report = json_loadb(text, n, 0, NULL);
    free(text);
    free(path);
    free(log_dir);
    return report;
}

static int trial_fit(const struct check_context *context,
                     const struct train_config *cfg, struct trial_run *trial,
                     struct error *err)
{
    struct options opt = {.launcher = context->opt->launcher,
                          .srun_args = context->opt->srun_args,
                          .quiet = true};
    const struct trainer trainer = {
        .cfg = cfg, .opt = &opt, .launcher = context->launcher};
    json_t *result = NULL;
    double start = clock_now();
    bool again;
    int rc = trainer_fit(&trainer, &trial->outcome, &result, &again, err);

    trial->took_s = clock_now() - start;
    json_decref(result);
    return rc;
}

int trial_run(const struct check_context *context, const char *storage, int workers,
              struct trial_run *trial, struct error *err)
{
    struct train_config cfg;
    char name[NAME_MAX_], *dir;
    int rc;

    *trial = (struct trial_run){.workers = workers};
    name_make(name);
    left_remove(storage, name);
    if (!(dir = run_dir_file(storage, name)))
        return error_no_memory(err);
    rc = config_make(context, storage, name, workers, &cfg, err);
    if (rc == 0)
        rc = trial_fit(context, &cfg, trial, err);
    trial->report = report_read(dir);
    if (fs_remove_tree(dir, rc < 0 ? NULL : err) < 0)
        rc = -1;
    train_config_clear(&cfg);
    free(dir);
    return rc;
}

void trial_run_clear(struct trial_run *trial)
{
    json_decref(trial->report);
    trial->report = NULL;
}
