/*
 * predict_calls.c - the raytrain_predictor_* functions, and a prediction in a session:
 * its input is the dataset PREDICT_DATASET, its model the checkpoint from which the
 * attempt starts, and it reports after some of its rounds.
 */
#include "session/predictions.h"

#include <string.h>

#include "checkpoint/checkpoint.h"
#include "predict/file_predictor.h"
#include "session/collectives.h"
#include "session/data_decisions.h"
#include "session/dataset_watch.h"
#include "session/signs.h"

/* ---- Reports ---- */

/* Report the rows that are done and all rows, the rows per second, and the seconds that
 * are left. */
static int round_report(void *arg, const struct predict_progress *p, bool *stop,
                        struct error *err)
{
    raytrain_context *ctx = arg;
    double rate = 0, left = 0;

    if (p->seconds > 0)
        rate = (double)p->here / p->seconds;
    if (rate > 0)
        left = (double)(p->rows - p->done) / rate;
    const raytrain_metric metrics[] = {
        {"rows", (double)p->done},
        {"rows_total", (double)p->rows},
        {"rows_per_s", rate},
        {"time_left_s", left},
    };

    if (raytrain_report(ctx, metrics, sizeof metrics / sizeof metrics[0], NULL)) {
        if (err != &ctx->error)
            *err = ctx->error;
        return -1;
    }
    *stop = raytrain_should_stop(ctx);
    return 0;
}

static void batch_begins(void *arg)
{
    sign_of_progress(arg);
}

/* ---- Start and end ---- */

static const struct dataset_config *input_find(const struct train_config *cfg)
{
    for (size_t i = 0; i < cfg->n_datasets; i++)
        if (strcmp(cfg->datasets[i].name, PREDICT_DATASET) == 0)
            return &cfg->datasets[i];
    return NULL;
}

/* COLLECTIVE at the first call. */
static struct comm *predict_comm(raytrain_context *ctx, struct error *err)
{
    if (!ctx->predictions && ctx->comm->ops->dup(ctx->comm, &ctx->predictions, err) < 0)
        return NULL;
    ctx->predictions->waiting = collective_wait_hook;
    ctx->predictions->waiting_arg = &ctx->waiting;
    return ctx->predictions;
}

static int files_begin(raytrain_context *ctx, raytrain_predictor **p, struct error *err)
{
    struct file_predictor_env env = {.comm = predict_comm(ctx, err),
                                     .run_dir = ctx->env.run_dir,
                                     .invocation = ctx->env.invocation,
                                     .config = &ctx->env.config->predict,
                                     .input = input_find(ctx->env.config),
                                     .chain = ctx->chain.n > 0 ? &ctx->chain : NULL,
                                     .progress = round_report,
                                     .goes_on = batch_begins,
                                     .arg = ctx};
    struct dataset_watch watch;

    collective_wait_begin(&ctx->waiting, "open dataset");
    if (!env.comm || !(env.node = session_node_comm(ctx, err)))
        return -1;
    if (!env.input || !env.config->output)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "a prediction needs predict.output and datasets." PREDICT_DATASET
            ": start it with raytrain-predict");
    if (data_decisions_obey(ctx, env.input, &ctx->input, err) < 0)
        return -1;
    env.input = &ctx->input;
    if (ctx->restored) {
        env.checkpoint = checkpoint_path(ctx->restored);
        env.iteration = checkpoint_meta(ctx->restored)->training_iteration;
    }
    env.watch = dataset_watch_begin(&watch, ctx, PREDICT_DATASET);
    env.warn = dataset_watch_warn;
    env.warn_arg = &watch;
    if (file_predictor_create(&env, &ctx->predictor, err) < 0)
        return -1;
    *p = ctx->predictor;
    return 0;
}

int session_predict_begin(raytrain_context *ctx, raytrain_predictor **p,
                          struct error *err)
{
    if (ctx->env.config->predict.service)
        return session_serve_begin(ctx, input_find(ctx->env.config), p, err);
    return files_begin(ctx, p, err);
}

/* ---- Start and end, on all ranks ---- */

static void begin_say(const void *arg, char text[CALL_TEXT_MAX])
{
    (void)arg;
    strcpy(text, "asked for the first batch");
}

/* Workers of a service start alone. */
static int begin_match(raytrain_context *ctx, uint64_t arguments, struct error *err)
{
    const struct session_call call = {CALL_PREDICT, begin_say, NULL};

    return ctx->predictions && ctx->comm->size > 1
               ? session_match_arguments(ctx, &call, arguments, err)
               : 0;
}

int session_predict_first(raytrain_context *ctx, const raytrain_predictor *p,
                          struct error *err)
{
    if (predictor_has_begun(p))
        return 0;
    collective_wait_begin(&ctx->waiting, "prediction");
    return begin_match(ctx, 0, err);
}

int session_predict_end(raytrain_context *ctx, struct error *err)
{
    collective_wait_begin(&ctx->waiting, "the end");
    if (!ctx->ended_on_request || predictor_has_begun(ctx->predictor))
        return predictor_finish(ctx->predictor, err);
    /* This rank has not made a call: all learn of it in the next one. */
    if (begin_match(ctx, 2, err) < 0)
        return -1;
    return error_set(err, RAYTRAIN_ESTOPPED,
                     "stopped on request, before it asked for its first batch");
}

/* ---- The calls ---- */

int raytrain_predictor_output(raytrain_predictor *p, const char *name,
                              raytrain_dtype dtype, int ndim, const uint64_t shape[])
{
    if (!p || !name || (!shape && ndim > 0))
        return session_null(NULL, __func__,
                            !p      ? "predictor"
                            : !name ? "name"
                                    : "shape");
    return session_status(
        NULL, predictor_output(p, name, dtype, ndim, shape, session_error(NULL)));
}

int raytrain_predictor_set_batch_size(raytrain_predictor *p, uint64_t rows)
{
    if (!p)
        return session_null(NULL, __func__, "predictor");
    return session_status(NULL, predictor_set_batch_size(p, rows, session_error(NULL)));
}

raytrain_dataset *raytrain_predictor_dataset(raytrain_predictor *p)
{
    if (!p) {
        session_null(NULL, __func__, "predictor");
        return NULL;
    }
    return predictor_dataset(p);
}

int raytrain_predictor_next(raytrain_predictor *p, uint64_t *rows)
{
    raytrain_context *ctx = session_current();
    int rc;

    if (!p || !rows)
        return session_null(NULL, __func__, p ? "rows" : "predictor");
    rc = ctx ? session_predict_first(ctx, p, session_error(NULL)) : 0;
    if (rc == 0)
        rc = predictor_next(p, rows, session_error(NULL));
    return rc > 0 ? RAYTRAIN_END : session_status(NULL, rc);
}

int raytrain_predictor_put(raytrain_predictor *p, const char *name, const void *data)
{
    if (!p || !name || !data)
        return session_null(NULL, __func__, !p ? "predictor" : !name ? "name" : "data");
    return session_status(NULL, predictor_put(p, name, data, session_error(NULL)));
}
