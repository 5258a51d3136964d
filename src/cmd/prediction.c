/* prediction.c - find the checkpoint, then the predict function. What is configured for
 * a prediction is in config/predict_config.c. */
#include "prediction.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checkpoint/checkpoint.h"
#include "run/checkpoint_manager.h"
#include "util/quote.h"

/* ---- The checkpoint ---- */

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* An unreadable checkpoint may be the one that the user means: do not silently use
 * another model in its place. */
static int others_check(const struct options *opt, const char *chosen,
                        struct error *err)
{
    int64_t after = opt->last ? checkpoint_manager_iteration(chosen) : -1;
    struct error why;

    if (checkpoint_manager_check(opt->checkpoint, after, &why) == 0)
        return 0;
    return error_set(err, why.code,
                     "--checkpoint: one of the run cannot be read, and may be the %s: "
                     "%s; name the checkpoint to predict with%s",
                     opt->last ? "newest" : "best", why.text,
                     opt->last ? "" : ", or add --last for the newest");
}

int prediction_checkpoint(const struct options *opt, char **chosen, struct error *err)
{
    char *best = NULL, *latest = NULL, quoted[QUOTE_TEXT_MAX];

    if (!is_directory(opt->checkpoint)) {
        *chosen = strdup(opt->checkpoint);
        return *chosen ? 0 : error_no_memory(err);
    }
    if (checkpoint_manager_best_of(opt->checkpoint, &best, &latest, err) < 0)
        return -1;
    *chosen = opt->last ? latest : best;
    free(opt->last ? best : latest);
    if (*chosen && others_check(opt, *chosen, err) == 0)
        return 0;
    if (*chosen) {
        free(*chosen);
        *chosen = NULL;
        return -1;
    }
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "--checkpoint: there is no complete checkpoint in %s; name the "
                     "directory of a run, or a checkpoint",
                     quote(opt->checkpoint, quoted));
}

/* ---- Without a predict function ---- */

/* The name of the trainer that made the checkpoint; NULL: it was made by another
 * program. */
static int trainer_read(const char *checkpoint, char **trainer, struct error *err)
{
    raytrain_checkpoint *ck = NULL;

    *trainer = NULL;
    if (checkpoint_is_plain_hdf5(checkpoint))
        return 0;
    if (checkpoint_open_index(checkpoint, &ck, err) < 0)
        return error_prefix(err, "--checkpoint");
    if (checkpoint_get_string(ck, GBDT_TRAINER, trainer, err) < 0)
        *trainer = NULL;
    checkpoint_destroy(ck);
    return 0;
}

int prediction_function(struct train_config *cfg, struct error *err)
{
    char *trainer;

    if (cfg->train_func) {
        if (cfg->predict.n_outputs > 0)
            return error_set(err, RAYTRAIN_EUSAGE,
                             "--outputs is for models of the trainers xgboost and "
                             "lightgbm: a predict function decides what its outputs "
                             "are; leave out one of them");
        json_object_clear(cfg->gbdt.params); /* of the training */
        trainer = strdup("data_parallel");
        if (!trainer)
            return error_no_memory(err);
    } else {
        if (trainer_read(cfg->resume_from_checkpoint, &trainer, err) < 0)
            return -1;
        if (!gbdt_config_is_trainer(trainer)) {
            free(trainer);
            return error_set(
                err, RAYTRAIN_EUSAGE,
                "no predict function: name a .so or a program, or a command "
                "after --, since the checkpoint is not from xgboost or "
                "lightgbm (more: --help)");
        }
    }
    free(cfg->trainer);
    cfg->trainer = trainer;
    return 0;
}

/* ---- What only trainings use ---- */

static void datasets_reduce(struct train_config *cfg)
{
    size_t n = 0;

    for (size_t i = 0; i < cfg->n_datasets; i++)
        if (strcmp(cfg->datasets[i].name, PREDICT_DATASET) == 0) {
            struct dataset_config found = cfg->datasets[i];

            cfg->datasets[i] = cfg->datasets[n];
            cfg->datasets[n++] = found;
        }
    if (n > 0 && cfg->n_datasets > n) {
        struct dataset_config *rest = malloc((cfg->n_datasets - n) * sizeof *rest);
        size_t n_rest = cfg->n_datasets - n;

        if (!rest)
            return; /* do not validate them for nothing */
        memcpy(rest, cfg->datasets + n, n_rest * sizeof *rest);
        cfg->n_datasets = n;
        datasets_clear(&rest, &n_rest);
    }
}

int prediction_reduce(struct train_config *cfg, struct error *err)
{
    if (data_config_check_paths(cfg->datasets, cfg->n_datasets, err) < 0)
        return -1;
    run_config_stop_clear(&cfg->run_config);  /* for metrics of a training */
    preprocessors_clear(&cfg->preprocessors); /* the checkpoint has them, fitted */
    datasets_reduce(cfg);
    return 0;
}
