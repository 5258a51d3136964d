/*
 * serve_calls.c - a prediction for a service, in a session: its rows come over the
 * socket predict.service, and its model is the checkpoint from which the attempt
 * starts. It makes no reports, since the service counts rows.
 */
#include "config.h"

#include "session/predictions.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "config/gbdt_config.h"
#include "config/train_config.h"
#include "rank/stop.h"
#include "serve/service_predictor.h"
#include "session/collectives.h"
#include "session/data_decisions.h"
#include "session/dataset_watch.h"
#include "session/signs.h"
#include "util/process.h"
#include "util/run_record.h"

/* Signs of progress in hang_timeout_s, while it waits for a batch. */
#define SIGNS 4
/* The default column of labels. */
#define LABEL "y"

static void goes_on(void *arg)
{
    sign_of_progress(arg);
}

static bool stops(void *arg)
{
    (void)arg;
    return stop_requested();
}

/* The process of a command may be stopped while its companion is not. */
static bool lives(void *arg)
{
    raytrain_context *ctx = arg;
    pid_t client = atomic_load(&ctx->client);

    return client <= 0 || !process_is_stopped(client);
}

static int sign_ms(const raytrain_context *ctx)
{
    int limit = ctx->env.config->run_config.failure_config.hang_timeout_s;

    if (limit <= 0)
        return -1;
    return limit < INT_MAX / 1000 ? limit * 1000 / SIGNS : INT_MAX / SIGNS;
}

/* ---- The inputs ---- */

/* The configuration of the run that has made the checkpoint, which is beside it;
 * without one, `run` has the defaults. Files that another user's configuration names
 * are not read. */
static void run_of_checkpoint(const raytrain_context *ctx, struct train_config *run,
                              struct error *foreign)
{
    const char *path = ctx->restored ? checkpoint_path(ctx->restored) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    char *file, *text = NULL;

    train_config_init(run);
    *foreign = (struct error){.code = RAYTRAIN_OK};
    if (!slash || asprintf(&file, "%.*s/run.cfg", (int)(slash - path), path) < 0)
        return;
    if (record_read_judged(file, RECORD_OF_RUN, &text, NULL, foreign, NULL) == 0 &&
        train_config_merge_text(run, text, file, NULL) < 0) {
        train_config_clear(run);
        train_config_init(run);
    }
    free(text);
    free(file);
}

/* The column of the labels, which a prediction does not have. If labels have their own
 * file, it is "y". */
static const char *label_of(const struct train_config *cfg,
                            const struct train_config *run,
                            const struct dataset_config *like)
{
    if (cfg->gbdt.label || run->gbdt.label)
        return cfg->gbdt.label ? cfg->gbdt.label : run->gbdt.label;
    if (gbdt_config_is_trainer(cfg->trainer))
        return GBDT_LABEL;
    return like->label && !dataset_label_is_path(like) ? like->label : LABEL;
}

/* COLLECTIVE. The columns of a dataset, whose rows are not used. */
static int inputs_of_dataset(raytrain_context *ctx, const struct dataset_config *like,
                             const char *label, const struct chain *chain,
                             struct serve_inputs *inputs, struct error *err)
{
    struct dataset_watch watch;
    struct dataset_env env = {
        .rank = 0, .size = 1, .warn = dataset_watch_warn, .warn_arg = &watch};
    struct dataset_config obeying;
    raytrain_dataset *ds;
    int rc;

    if (data_decisions_obey(ctx, like, &obeying, err) < 0)
        return -1;
    env.watch = dataset_watch_begin(&watch, ctx, like->name);
    env.node = session_node_comm(ctx, err);
    if (!env.node || dataset_open(&obeying, &env, &ds, err) < 0)
        return -1;
    rc = serve_inputs_like(dataset_schema(ds), label, chain, inputs, err);
    dataset_close(ds);
    if (rc == 0 && gbdt_config_is_trainer(ctx->env.config->trainer))
        serve_inputs_widen(inputs, chain);
    return rc < 0 ? error_prefix(err, "dataset \"%s\"", like->name) : 0;
}

static int inputs_of_run(raytrain_context *ctx, const struct train_config *run,
                         const struct error *foreign, const struct chain *chain,
                         struct serve_inputs *inputs, struct error *err)
{
    const struct dataset_config *like = NULL;
    struct error why;

    if (foreign->code)
        return error_set(
            err, foreign->code,
            "a service needs to know the columns of its rows, and does not "
            "look for them in the files that another user names: %s; add "
            "--input NAME:DTYPE[:SHAPE] for each column, or --like FILE "
            "with such rows",
            foreign->text);
    if (data_config_training_set(run->datasets, run->n_datasets, &like, &why) < 0 &&
        !like)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "a service needs to know the columns of its rows, and there is "
            "no run with a training dataset beside the checkpoint: "
            "add --input NAME:DTYPE[:SHAPE] for each column, or --like "
            "FILE with such rows");
    if (inputs_of_dataset(ctx, like, label_of(ctx->env.config, run, like), chain,
                          inputs, &why) == 0)
        return 0;
    return error_set(err, why.code,
                     "a service needs to know the columns of its rows, and cannot read "
                     "those of the training: %s; add --input NAME:DTYPE[:SHAPE] for "
                     "each column, or --like FILE with such rows",
                     why.text);
}

/* COLLECTIVE */
static int inputs_find(raytrain_context *ctx, const struct dataset_config *like,
                       const struct chain *chain, struct serve_inputs *inputs,
                       struct error *err)
{
    const struct train_config *cfg = ctx->env.config;
    struct train_config run;
    struct error foreign;
    int rc;

    if (cfg->predict.inputs.n > 0)
        return serve_inputs_configured(&cfg->predict.inputs, chain, inputs, err);
    run_of_checkpoint(ctx, &run, &foreign);
    if (like)
        rc =
            inputs_of_dataset(ctx, like, label_of(cfg, &run, like), chain, inputs, err);
    else
        rc = inputs_of_run(ctx, &run, &foreign, chain, inputs, err);
    train_config_clear(&run);
    return rc;
}

/* ---- Start ---- */

int session_serve_begin(raytrain_context *ctx, const struct dataset_config *like,
                        raytrain_predictor **p, struct error *err)
{
    struct service_predictor_env env = {.config = &ctx->env.config->predict,
                                        .stops = stops,
                                        .goes_on = goes_on,
                                        .sign_ms = sign_ms(ctx),
                                        .lives = lives,
                                        .arg = ctx};
    struct serve_inputs inputs;

    if (ctx->chain.n > 0 && (!like || like->preprocess))
        env.chain = &ctx->chain;
    if (ctx->restored) {
        env.checkpoint = checkpoint_path(ctx->restored);
        env.iteration = checkpoint_meta(ctx->restored)->training_iteration;
    }
    collective_wait_begin(&ctx->waiting, "open dataset");
    if (inputs_find(ctx, like, env.chain, &inputs, err) < 0)
        return -1;
    inputs.missing = like && like->n_missing > 0
                         ? (struct missing_texts){like->missing, like->n_missing}
                         : (struct missing_texts){ctx->decisions.missing.texts,
                                                  ctx->decisions.missing.n};
    if (service_predictor_create(&env, &inputs, &ctx->predictor, err) < 0)
        return -1;
    *p = ctx->predictor;
    return 0;
}
