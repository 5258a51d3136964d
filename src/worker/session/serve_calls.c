/*
 * serve_calls.c - a prediction for a service, in a session: its rows come over the socket
 * predict.service, and its model is the checkpoint that the attempt starts from. There are
 * no reports: the service counts.
 */
#include "session/session.h"

#include <limits.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "config/gbdt_config.h"
#include "rank/stop.h"
#include "serve/service_predictor.h"
#include "session/signs.h"

/* In hang_timeout_s, while it waits for a batch. */
#define SIGNS 4

static void goes_on(void *arg)
{
    sign_of_progress(arg);
}

static bool stops(void *arg)
{
    (void)arg;
    return stop_requested();
}

static int sign_ms(const raytrain_context *ctx)
{
    int limit = ctx->env.config->run_config.failure_config.hang_timeout_s;

    if (limit <= 0)
        return -1;
    return limit < INT_MAX / 1000 ? limit * 1000 / SIGNS : INT_MAX / SIGNS;
}

/* ---- The inputs ---- */

/* The column of the labels, of which a prediction knows nothing. */
static const char *label_of(const struct train_config *cfg)
{
    if (cfg->gbdt.label)
        return cfg->gbdt.label;
    return gbdt_config_is_trainer(cfg->trainer) ? GBDT_LABEL : NULL;
}

/* COLLECTIVE. The columns of a dataset, of which no rows are used. */
static int inputs_of_dataset(raytrain_context *ctx, const struct dataset_config *like,
                             const struct chain *chain, struct serve_inputs *inputs,
                             struct error *err)
{
    struct dataset_env env = {.rank = 0, .size = 1};
    raytrain_dataset *ds;
    int rc;

    env.node = session_node_comm(ctx, err);
    if (!env.node || session_dataset_open(ctx, like, &env, &ds, err) < 0)
        return -1;
    rc = serve_inputs_like(dataset_schema(ds), label_of(ctx->env.config), chain, inputs,
                           err);
    dataset_close(ds);
    return rc < 0 ? error_prefix(err, "dataset \"%s\"", like->name) : 0;
}

/* COLLECTIVE */
static int inputs_find(raytrain_context *ctx, const struct dataset_config *like,
                       const struct chain *chain, struct serve_inputs *inputs,
                       struct error *err)
{
    const struct predict_inputs *config = &ctx->env.config->predict.inputs;

    if (config->n > 0)
        return serve_inputs_configured(config, chain, inputs, err);
    if (like)
        return inputs_of_dataset(ctx, like, chain, inputs, err);
    return error_set(err, RAYTRAIN_EINVAL,
                     "a service needs to know the columns of its rows: set "
                     "predict.inputs, or datasets." PREDICT_DATASET
                     " to a file with such rows");
}

/* ---- Its beginning ---- */

int session_serve_begin(raytrain_context *ctx, const struct dataset_config *like,
                        raytrain_predictor **p, struct error *err)
{
    struct service_predictor_env env = {.config = &ctx->env.config->predict,
                                        .stops = stops,
                                        .goes_on = goes_on,
                                        .sign_ms = sign_ms(ctx),
                                        .arg = ctx};
    struct serve_inputs inputs;

    if (ctx->chain.n > 0 && (!like || like->preprocess))
        env.chain = &ctx->chain;
    if (ctx->restored) {
        env.checkpoint = checkpoint_path(ctx->restored);
        env.iteration = checkpoint_meta(ctx->restored)->training_iteration;
    }
    collective_wait_begin(&ctx->waiting, "open dataset");
    if (inputs_find(ctx, like, env.chain, &inputs, err) < 0 ||
        service_predictor_create(&env, &inputs, &ctx->predictor, err) < 0)
        return -1;
    *p = ctx->predictor;
    return 0;
}
