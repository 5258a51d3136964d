/*
 * preprocessing.c - chooses the preprocessors of a run, from a checkpoint or the
 * configuration, finds their functions, and fits them by preprocess/.
 */
#include "config.h"
#include "session/preprocessing.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_hdf5.h"
#include "data/dataset_fit.h"
#include "hdf5/h5_image.h"
#include "preprocess/chain_file.h"
#include "preprocess/chain_share.h"
#include "preprocess/map_function.h"
#include "rank/event.h"
#include "rank/stop.h"
#include "session/collectives.h"
#include "session/datasets.h"
#include "session/signs.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/quote.h"

/* The group of the fitted state (raytrain-format(5)). */
#define GROUP "/" CHECKPOINT_RESERVED "/" PREPROCESSORS_KEY

/* When the user first sees the progress of a fit, and how often later. */
#define PROGRESS_FIRST_S 2.0
#define PROGRESS_S       10.0

/* ---- Checkpoints ---- */

static int state_write(const void *arg, struct h5_image *file, struct error *err)
{
    return chain_save(arg, h5_image_file(file), GROUP, err);
}

void preprocessing_save(const raytrain_context *ctx, raytrain_checkpoint *ck)
{
    if (ctx->chain.n > 0 && ctx->comm->rank == 0)
        checkpoint_add_metadata(ck, state_write, &ctx->chain);
}

/* On rank 0. */
static int state_read(const raytrain_checkpoint *ck, struct chain *chain,
                      struct error *err)
{
    hid_t file = checkpoint_hdf5_open(ck, err);
    struct h5_quiet quiet;
    int rc = file < 0 ? -1 : 0;

    if (rc == 0 && checkpoint_hdf5_has(file, GROUP "/configuration"))
        rc = chain_load(chain, file, GROUP, err);
    h5_quiet_begin(&quiet);
    if (file >= 0)
        H5Fclose(file);
    h5_quiet_end(&quiet);
    return rc < 0 ? error_prefix(err, "%s", checkpoint_path(ck)) : 0;
}

int preprocessing_load(struct comm *comm, const raytrain_checkpoint *ck,
                       struct chain *chain, struct error *err)
{
    int rc = 0, has;

    *chain = (struct chain){.list = NULL};
    if (!checkpoint_is_verified(ck))
        return 0;
    if (comm->rank == 0)
        rc = state_read(ck, chain, err);
    if (comm_agree(comm, rc, err) < 0)
        return -1;
    has = chain->n > 0;
    if (comm->ops->bcast(comm, &has, sizeof has, 0, err) < 0)
        return -1;
    return has ? chain_share(chain, 0, comm, err) : 0;
}

/* ---- Which preprocessors ---- */

/* The libraries of functions in C are those of the configuration: they may have moved
 * since the checkpoint was made. */
static int libraries_take(raytrain_context *ctx, struct error *err)
{
    const struct preprocessors_config *now = &ctx->env.config->preprocessors;

    for (size_t i = 0; i < now->n && i < ctx->chain.n; i++) {
        struct preprocessor_config *before = &ctx->chain.config.list[i];
        char *library = NULL;

        if (now->list[i].kind != before->kind)
            continue;
        if (now->list[i].library && !(library = strdup(now->list[i].library)))
            return error_no_memory(err);
        free(before->library);
        before->library = library;
    }
    return 0;
}

/* Does the configuration have the same preprocessors, or none? */
static int restored_check(const raytrain_context *ctx, struct error *err)
{
    const struct preprocessors_config *config = &ctx->env.config->preprocessors;
    char *now = preprocessors_text(config), *before;
    int rc = 0;

    before = preprocessors_text(&ctx->chain.config);
    if (!now || !before)
        rc = error_no_memory(err);
    else if (config->n > 0 && strcmp(now, before) != 0)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "preprocessor: the configuration has other preprocessors than "
                       "the checkpoint %s, which were fitted with what it has learned; "
                       "use the same (raytrain-inspect shows them), or start a new run",
                       checkpoint_path(ctx->restored));
    free(now);
    free(before);
    return rc;
}

/* Drop pickles where the configuration names a function in Python: it is imported by
 * that name, or the script passes it (preprocess_function). */
static void pickles_drop(raytrain_context *ctx)
{
    for (size_t i = 0; i < ctx->chain.n; i++)
        if (ctx->chain.list[i].config->python)
            fitted_clear(&ctx->chain.list[i].fitted);
}

static int restored_take(raytrain_context *ctx, struct error *err)
{
    bool wanted = ctx->env.config->preprocessors.n > 0;

    if (preprocessing_load(ctx->comm, ctx->restored, &ctx->chain, err) < 0 ||
        libraries_take(ctx, err) < 0 || restored_check(ctx, err) < 0)
        return -1;
    if (ctx->restored_own && wanted && ctx->chain.n == 0)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "preprocessor: the checkpoint %s was made without any; use the "
            "same configuration, or start a new run",
            checkpoint_path(ctx->restored));
    if (wanted && !ctx->env.config->run_config.allow_code)
        pickles_drop(ctx);
    if (ctx->chain.n > 0 && ctx->comm->rank == 0)
        event_add(ctx->env.log_dir, EVENT_NOTE,
                  wanted ? "the preprocessors are those of the checkpoint"
                  : predict_config_predicts(&ctx->env.config->predict)
                      ? "rows go through the preprocessors of the checkpoint"
                      : "the preprocessors of the checkpoint are used: the "
                        "configuration has none");
    return 0;
}

/* Copy the list, since chains own theirs. */
static int configuration_copy(const struct preprocessors_config *from,
                              struct chain *chain, struct error *err)
{
    struct preprocessors_config copy = {NULL, 0};
    int rc = preprocessors_copy(from, &copy, err);

    if (rc == 0)
        rc = chain_create(chain, &copy, err);
    preprocessors_clear(&copy);
    return rc;
}

/* ---- Their functions ---- */

static int code_refuse(const raytrain_context *ctx,
                       const struct preprocessor_config *cfg, struct error *err)
{
    bool predicts = predict_config_predicts(&ctx->env.config->predict);
    char library[QUOTE_TEXT_MAX], function[QUOTE_TEXT_MAX];

    return error_set(
        err, RAYTRAIN_EINVAL,
        "the checkpoint %s has a batch_mapper: the function %s%s%s; only the "
        "checkpoint names this code, which would run as you\nIf you trust the origin "
        "of the checkpoint, add --allow-code (in Python: allow_code=True)%s",
        checkpoint_path(ctx->restored),
        quote(cfg->function ? cfg->function : cfg->python, function),
        cfg->library ? " of " : "", cfg->library ? quote(cfg->library, library) : "",
        predicts ? "" : ", or set the key `preprocessor` as the run had it");
}

/* May the function of a batch mapper be called? Yes if the configuration names it; if
 * only a checkpoint does, --allow-code is needed, unless it is in the training
 * function's file. */
static int code_check(const raytrain_context *ctx,
                      const struct preprocessor_config *cfg, struct error *err)
{
    bool configured = ctx->env.config->preprocessors.n > 0;
    bool allowed = configured || ctx->env.config->run_config.allow_code;

    if (!allowed)
        return cfg->library || cfg->python ? code_refuse(ctx, cfg, err) : 0;
    if (!cfg->function)
        return 0;
    return map_function_allow(cfg->library, cfg->function,
                              configured ? MAP_OF_USER : MAP_OF_CHECKPOINT, err);
}

/* COLLECTIVE, before any rows are read, so that a missing function fails the run,
 * whatever the training function does when a dataset fails. */
static int functions_find(raytrain_context *ctx, struct error *err)
{
    raytrain_map_func function;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < ctx->chain.n; i++) {
        const struct preprocessor_config *cfg = ctx->chain.list[i].config;

        if (cfg->python && ctx->env.config->train_func_kind != TRAIN_FUNC_COMMAND)
            rc = map_function_no_python(cfg->python, err);
        if (rc == 0 && (cfg->python || cfg->function))
            rc = code_check(ctx, cfg, err);
        if (rc < 0 || !cfg->function)
            continue;
        rc = map_function_find(cfg->library, cfg->function, &function, err);
        if (rc < 0)
            error_prefix(err, "preprocessor: batch_mapper \"%s\"", cfg->function);
    }
    return comm_agree(ctx->comm, rc, err);
}

/* ---- Learning ---- */

struct progress {
    raytrain_context *ctx;
    double started, next;
};

static int block_begin(void *arg, uint64_t rows, struct error *err)
{
    struct progress *p = arg;
    double now = clock_now();

    (void)fault_point("fit.block", p->ctx->comm->rank);
    sign_of_progress(p->ctx);
    if (stop_requested())
        return error_set(err, RAYTRAIN_ESTOPPED,
                         "stopped on request while preprocessors were fitted");
    if (p->ctx->comm->rank == 0 && now > p->next) {
        event_add(p->ctx->env.log_dir, EVENT_PROGRESS,
                  "fitting preprocessors: rank 0 has read %llu rows in %.0f s",
                  (unsigned long long)rows, now - p->started);
        p->next = now + PROGRESS_S;
    }
    return 0;
}

/* COLLECTIVE */
static int training_set_open(raytrain_context *ctx, raytrain_dataset **ds,
                             struct error *err)
{
    const struct train_config *cfg = ctx->env.config;
    const struct dataset_config *found;
    struct comm *node = session_node_comm(ctx, err);
    struct dataset_config plain;
    int rc;

    *ds = NULL;
    if (!node ||
        data_config_training_set(cfg->datasets, cfg->n_datasets, &found, err) < 0)
        return -1;
    plain = *found;
    plain.shuffle = false;
    plain.last_batch = LAST_BATCH_KEEP;
    rc = session_dataset_open(ctx, &plain,
                              &(struct dataset_env){.size = 1, .node = node}, ds, err);
    if (comm_agree(ctx->comm, rc, err) < 0)
        return -1;
    return dataset_compare(*ds, ctx->comm, err);
}

/* COLLECTIVE */
static int fit(raytrain_context *ctx, struct error *err)
{
    struct progress progress = {.ctx = ctx, .started = clock_now()};
    struct dataset_fit job = {
        .chain = &ctx->chain, .block = block_begin, .arg = &progress};
    raytrain_dataset *ds = NULL;
    int rc = configuration_copy(&ctx->env.config->preprocessors, &ctx->chain, err);

    progress.next = progress.started + PROGRESS_FIRST_S;
    rc = comm_agree(ctx->comm, rc, err);
    if (rc == 0)
        rc = functions_find(ctx, err);
    if (rc == 0 && chain_is_fitted(&ctx->chain))
        return 0;
    if (rc == 0)
        rc = training_set_open(ctx, &ds, err);
    if (rc == 0)
        rc = dataset_fit(ds, ctx->comm, &job, err);
    if (rc == 0 && ctx->comm->rank == 0)
        event_add(
            ctx->env.log_dir, EVENT_NOTE,
            "the preprocessors are fitted: dataset \"%s\", %llu rows, %d %s, %.1f s",
            dataset_name(ds), (unsigned long long)dataset_rows(ds), job.passes,
            job.passes == 1 ? "pass" : "passes", clock_now() - progress.started);
    dataset_close(ds);
    return rc;
}

/* Set the library of batch mappers that have none: the training function's file. */
static void functions_place(const struct train_config *cfg)
{
    static const char program[] = "";

    if (cfg->train_func_kind == TRAIN_FUNC_COMMAND)
        map_function_object(NULL);
    else
        map_function_object(cfg->train_func_kind == TRAIN_FUNC_SHARED_OBJECT
                                ? cfg->train_func
                                : program);
}

static int chain_start(raytrain_context *ctx, struct error *err)
{
    if (ctx->restored && restored_take(ctx, err) < 0)
        return -1;
    if (ctx->chain.n > 0)
        return functions_find(ctx, err);
    if (ctx->env.config->preprocessors.n == 0)
        return 0;
    collective_wait_begin(&ctx->waiting, "fit preprocessors");
    return fit(ctx, err);
}

int preprocessing_start(raytrain_context *ctx, struct error *err)
{
    functions_place(ctx->env.config);
    if (chain_start(ctx, err) < 0)
        return -1;
    ctx->chain.client_maps = ctx->env.config->train_func_kind == TRAIN_FUNC_COMMAND;
    return 0;
}
