/* train_config_check.c - is a configuration complete, and do its parts fit? */
#include "config/train_config_impl.h"

#include <stdlib.h>
#include <string.h>

#include "config/backend_row.h"
#include "config/config_key.h"
#include "config/python_script.h"
#include "util/quote.h"

static int fail_starts_workers(const char *path, const char *trainer, struct error *err)
{
    char shown[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL,
                     "train_func: %s starts its workers itself, by fit() of %s; run it "
                     "without raytrain-run: python3 %s",
                     quote(path, shown), trainer, path);
}

/* The command "python3 SCRIPT ARG..." */
static int script_command(struct train_config *cfg, struct error *err)
{
    char **args, *python;

    if (path_make_absolute(&cfg->train_func, err) < 0)
        return -1;
    args = calloc(cfg->n_args + 2, sizeof *args);
    python = strdup("python3");
    if (!args || !python) {
        free(args);
        free(python);
        return error_no_memory(err);
    }
    args[0] = cfg->train_func;
    for (size_t i = 0; i < cfg->n_args; i++)
        args[i + 1] = cfg->args[i];
    free(cfg->args);
    cfg->args = args;
    cfg->n_args++;
    cfg->train_func = python;
    cfg->train_func_kind = TRAIN_FUNC_COMMAND;
    cfg->is_script = true;
    return 0;
}

/* If a Python script is named in place of a training function in C, run it by python3,
 * with the backend of the framework that it imports. */
static int script_take(struct train_config *cfg, struct error *err)
{
    struct python_script script;

    if (cfg->train_func_kind == TRAIN_FUNC_COMMAND ||
        !python_script_is(cfg->train_func) ||
        !python_script_read(cfg->train_func, &script))
        return 0;
    if (script.trainer)
        return fail_starts_workers(cfg->train_func, script.trainer, err);
    if (script.backend && !cfg->backend && !(cfg->backend = strdup(script.backend)))
        return error_no_memory(err);
    return script_command(cfg, err);
}

static int train_func_validate(struct train_config *cfg, struct error *err)
{
    if (gbdt_config_is_trainer(cfg->trainer)) {
        if (!cfg->train_func)
            return 0;
        return error_set(err, RAYTRAIN_EUSAGE,
                         "trainer: \"%s\" has a training loop of its own, and \"%s\" "
                         "is a training function; leave out one of them",
                         cfg->trainer, cfg->train_func);
    }
    if (!cfg->train_func)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "no training function: name a .so or a program on the command "
                         "line, or set train_func in the configuration");
    if (script_take(cfg, err) < 0)
        return -1;
    if (train_func_resolve(&cfg->train_func, &cfg->train_func_kind, err) == 0)
        return 0;
    return cfg->train_func_later && !strchr(cfg->train_func, '/') &&
                   err->code == RAYTRAIN_ENOTFOUND
               ? 0
               : -1;
}

static int backend_use_check(const struct train_config *cfg,
                             const struct backend_row *row, struct error *err)
{
    bool command = cfg->train_func_kind == TRAIN_FUNC_COMMAND;

    if (row->uses & (command ? BACKEND_OF_COMMANDS : BACKEND_OF_FUNCTIONS))
        return 0;
    if (command)
        return error_set(err, RAYTRAIN_EINVAL,
                         "backend: \"%s\" is not for a command, which has the backend "
                         "\"command\" by default",
                         row->name);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "backend: \"%s\" is for a command: raytrain-run [OPTIONS] -- COMMAND [ARG...]; "
        "%s",
        row->name,
        row->instead ? row->instead : "a training function in C has \"mpi\"");
}

/* After the training function, since the default depends on its kind. */
static int backend_validate(struct train_config *cfg, struct error *err)
{
    bool command = cfg->train_func_kind == TRAIN_FUNC_COMMAND;
    const struct backend_row *row;

    if (!cfg->backend)
        cfg->backend = strdup(command ? "command" : "mpi");
    if (!cfg->backend)
        return error_no_memory(err);
    row = backend_row_find(cfg->backend);
    if (!row)
        return error_set(err, RAYTRAIN_EINVAL,
                         "backend: there is no backend \"%s\"; raytrain-run --help=all "
                         "lists them",
                         cfg->backend);
    if (backend_use_check(cfg, row, err) < 0 ||
        backend_config_validate(&cfg->backend_config, row, err) < 0)
        return -1;
    if (row->one_worker && cfg->scaling_config.max_workers > 1)
        return error_set(err, RAYTRAIN_EINVAL,
                         "backend: \"%s\" does not connect workers, so there can be "
                         "only 1, not %d; use \"mpi\"",
                         row->name, cfg->scaling_config.max_workers);
    return 0;
}

/* Fitted preprocessors may also come from a checkpoint that the run starts from. */
static int preprocessor_validate(const struct train_config *cfg, struct error *err)
{
    const struct dataset_config *found;

    if (cfg->preprocessors.n == 0 || cfg->resume_from_checkpoint)
        return 0;
    return data_config_training_set(cfg->datasets, cfg->n_datasets, &found, err);
}

int train_config_check_start(const struct train_config *cfg, struct error *err)
{
    return cfg->resume_from_checkpoint
               ? path_check_file("resume_from_checkpoint", cfg->resume_from_checkpoint,
                                 err)
               : 0;
}

/* What a run is named after by default. */
static const char *subject(const struct train_config *cfg)
{
    if (!cfg->train_func)
        return cfg->trainer;
    if (cfg->train_func_kind != TRAIN_FUNC_COMMAND)
        return cfg->train_func;
    return train_func_subject(cfg->train_func, cfg->args, cfg->n_args);
}

char *train_config_default_name(const struct train_config *cfg)
{
    return run_config_default_name(subject(cfg));
}

/* The keys of trainers with their own loop. */
static int gbdt_validate(struct train_config *cfg, struct error *err)
{
    if (!gbdt_config_is_trainer(cfg->trainer))
        return json_object_size(cfg->gbdt.params) == 0
                   ? 0
                   : error_set(err, RAYTRAIN_EINVAL,
                               "params are for the trainers xgboost and lightgbm; add "
                               "--trainer xgboost, or trainer = \"xgboost\" in the "
                               "configuration file");
    if (predict_config_predicts(&cfg->predict))
        return 0;
    return gbdt_config_validate(&cfg->gbdt, cfg->datasets, cfg->n_datasets, err);
}

int train_config_validate(struct train_config *cfg, struct error *err)
{
    /* A prediction decides itself when to save. */
    bool builtin_loop =
        gbdt_config_is_trainer(cfg->trainer) && !predict_config_predicts(&cfg->predict);
    struct config_where where = {.source = "configuration", .err = err};

    if (!train_config_is_whole(cfg))
        return config_fail_memory(&where);
    if (config_check(&train_config_table, cfg, &where) ||
        scaling_config_validate(&cfg->scaling_config, err) ||
        train_func_validate(cfg, err) || backend_validate(cfg, err) ||
        run_config_validate(&cfg->run_config, subject(cfg), err) ||
        checkpoint_config_validate(&cfg->run_config.checkpoint_config, builtin_loop,
                                   err) ||
        data_config_validate(&cfg->data_config, cfg->datasets, cfg->n_datasets, err) ||
        preprocessor_validate(cfg, err) || gbdt_validate(cfg, err) ||
        predict_config_validate(&cfg->predict, err) ||
        serve_config_validate(&cfg->serve, err))
        return -1;
    return path_make_absolute(&cfg->resume_from_checkpoint, err);
}
