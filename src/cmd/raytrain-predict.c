/*
 * raytrain-predict.c - predict the rows of a dataset with the model of a checkpoint, on
 * N workers.
 *
 * A prediction is a run like a training; its directory is FILE.run beside the output
 * FILE, and is removed when the output is complete. The workers' part is in
 * worker/predict.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prediction.h"
#include "program.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"

#define ENDING ".run"

/* Set for the process inside an allocation that this process takes: that one leaves the
 * directory, from which this process reads how the run ended. */
#define LEFT_BY "RAYTRAIN_PREDICT_LEAVES"

static bool is_inner; /* this is that process */

/* ---- The configuration of a prediction ---- */

static int need(bool there, const char *flag, struct error *err)
{
    return there ? 0
                 : error_set(err, RAYTRAIN_EUSAGE,
                             "%s is missing; type: raytrain-predict --checkpoint PATH "
                             "--data PATH -o FILE [PREDICT_FUNC.so]",
                             flag);
}

/* The directory of the run: FILE.run. */
static int run_name(struct train_config *cfg, struct error *err)
{
    const char *output = cfg->predict.output, *slash = strrchr(output, '/');
    char *name, *storage;
    int rc = asprintf(&name, "%s" ENDING, slash ? slash + 1 : output);

    if (rc < 0)
        return error_no_memory(err);
    storage = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
    if (!storage) {
        free(name);
        return error_no_memory(err);
    }
    free(cfg->run_config.name);
    free(cfg->run_config.storage_path);
    cfg->run_config.name = name;
    cfg->run_config.storage_path = storage;
    return 0;
}

static int predict_settle(struct options *opt, struct train_config *cfg,
                          struct error *err)
{
    bool has_data = false;
    char *checkpoint;

    is_inner = getenv(LEFT_BY) != NULL;
    for (size_t i = 0; i < cfg->n_datasets; i++)
        has_data = has_data || (strcmp(cfg->datasets[i].name, PREDICT_DATASET) == 0 &&
                                cfg->datasets[i].path);
    if (need(opt->checkpoint != NULL, "--checkpoint", err) < 0 ||
        need(has_data, "--data", err) < 0 ||
        need(cfg->predict.output != NULL, "--output", err) < 0 ||
        prediction_checkpoint(opt, &checkpoint, err) < 0)
        return -1;
    free(cfg->resume_from_checkpoint);
    cfg->resume_from_checkpoint = checkpoint;
    if (prediction_function(cfg, err) < 0 || prediction_reduce(cfg, err) < 0)
        return -1;
    if (setenv(LEFT_BY, "1", 1) < 0)
        return error_no_memory(err);
    return run_name(cfg, err);
}

/* ---- The end ---- */

static int predict_finish(const struct options *opt, const struct train_config *cfg,
                          struct error *err)
{
    char *run = run_dir_file(cfg->run_config.storage_path, cfg->run_config.name),
         quoted[QUOTE_TEXT_MAX];
    int rc = 0;

    if (!run)
        return error_no_memory(err);
    if (access(cfg->predict.output, F_OK) < 0)
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "%s is gone, which this prediction has made before; --fresh "
                       "makes it again",
                       quote(cfg->predict.output, quoted));
    else if (!opt->keep_run && !is_inner)
        rc = fs_remove_tree(run, err);
    free(run);
    return rc;
}

int main(int argc, char *argv[])
{
    const struct program program = {
        .name = "raytrain-predict",
        .noun = "prediction",
        .go_on = "to continue with the parts that are missing",
        .always_saves = true,
        .parse = options_parse_predict,
        .help = options_help_predict,
        .settle = predict_settle,
        .finish = predict_finish,
    };

    return program_main(&program, argc, argv);
}
