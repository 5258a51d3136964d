/* dataset_calls.c - datasets of raytrain.h, on top of data/dataset.h. */
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "session/collectives.h"
#include "session/data_decisions.h"
#include "session/dataset_watch.h"
#include "session/datasets.h"
#include "util/quote.h"
#include "util/tensor.h"

static int dataset_index(raytrain_context *ctx, const char *name)
{
    const struct train_config *cfg = ctx->env.config;

    for (size_t i = 0; i < cfg->n_datasets; i++) {
        if (strcmp(cfg->datasets[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

int session_dataset_open(raytrain_context *ctx, const struct dataset_config *cfg,
                         struct dataset_env *env, raytrain_dataset **out,
                         struct error *err)
{
    struct session_dataset *ds = &ctx->datasets[dataset_index(ctx, cfg->name)];
    struct dataset_config obeying;
    struct dataset_watch watch;
    char *directory = NULL;
    int rc = 0;

    if (data_decisions_obey(ctx, cfg, &obeying, err) < 0)
        return -1;
    if (ctx->env.run_dir &&
        asprintf(&directory, "%s/data/%s", ctx->env.run_dir, cfg->name) < 0) {
        directory = NULL;
        rc = error_no_memory(err);
    }
    rc = comm_agree(ctx->comm, rc, err);
    env->all = ctx->comm;
    env->directory = directory;
    env->watch = dataset_watch_begin(&watch, ctx, cfg->name);
    env->warn = dataset_watch_warn;
    env->warn_arg = &watch;
    env->again = ds->opened;
    env->invocation = ctx->env.invocation;
    if (rc == 0)
        rc = dataset_open(&obeying, env, out, err);
    if (rc == 0 && data_decisions_learn(ctx, cfg, *out, err) < 0) {
        dataset_close(*out);
        *out = NULL;
        rc = -1;
    }
    env->watch = NULL;
    ds->opened = ds->opened || rc == 0;
    free(directory);
    return rc;
}

/* This rank's part of opening: open the shard at its position in the checkpoint. */
static int shard_open(raytrain_context *ctx, size_t i, struct comm *node,
                      raytrain_dataset **shard, struct error *err)
{
    const struct dataset_config *cfg = &ctx->env.config->datasets[i];
    const struct session_dataset *ds = &ctx->datasets[i];
    struct dataset_env env = {.rank = cfg->split ? ctx->env.world->rank : 0,
                              .size = cfg->split ? ctx->env.world->size : 1,
                              .node = node,
                              .goes_on = ds->has_state && ds->state.position > 0,
                              .seed = ctx->env.config->seed,
                              .chain = cfg->preprocess && ctx->chain.n > 0 ? &ctx->chain
                                                                           : NULL};

    if (session_dataset_open(ctx, cfg, &env, shard, err) < 0)
        return -1;
    if (ds->has_state && dataset_state_set(*shard, &ds->state, err) < 0) {
        dataset_close(*shard);
        *shard = NULL;
        return -1;
    }
    return 0;
}

static void shard_note(const raytrain_context *ctx, const raytrain_dataset *shard)
{
    const char *label = dataset_lacks_label(shard);

    if (label && ctx->comm->rank == 0)
        event_add(ctx->env.log_dir, EVENT_NOTE,
                  "dataset \"%s\" has no column \"%s\": label_encoder is left out",
                  dataset_name(shard), label);
}

static void dataset_say(const void *arg, char text[CALL_TEXT_MAX])
{
    snprintf(text, CALL_TEXT_MAX, "called raytrain_get_dataset_shard(\"%s\")",
             (const char *)arg);
}

static raytrain_dataset *shard_get(raytrain_context *ctx, const char *name)
{
    const struct session_call call = {CALL_DATASET, dataset_say, name};
    struct error *err = &ctx->error;
    int i = dataset_index(ctx, name);
    char quoted[QUOTE_TEXT_MAX];
    raytrain_dataset *shard = NULL;
    struct comm *node;
    int rc;

    if (i < 0) {
        error_set(err, RAYTRAIN_ENOTFOUND,
                  "the configuration has no dataset %s: give it one with --dataset "
                  "NAME=PATH, or below datasets in the configuration file",
                  quote(name, quoted));
        return NULL;
    }
    if (ctx->datasets[i].shard)
        return ctx->datasets[i].shard;
    collective_wait_begin(&ctx->waiting, "open dataset");
    if (session_match_arguments(ctx, &call, (uint64_t)i << 1, err) < 0)
        return NULL;
    node = session_node_comm(ctx, err);
    if (!node)
        return NULL;
    rc = shard_open(ctx, (size_t)i, node, &shard, err);
    if (rc < 0 && err->code == RAYTRAIN_ESTOPPED) { /* on all ranks */
        ctx->stop_reason = STOP_ASKED;
        ctx->should_stop = true;
    }
    if (comm_agree(ctx->comm, rc, err) < 0 ||
        dataset_compare(shard, ctx->comm, err) < 0) {
        dataset_close(shard);
        return NULL;
    }
    shard_note(ctx, shard);
    ctx->datasets[i].shard = shard;
    return shard;
}

raytrain_dataset *raytrain_get_dataset_shard(raytrain_context *ctx, const char *name)
{
    if (!ctx || !name) {
        session_null(ctx, __func__, ctx ? "name" : "context");
        return NULL;
    }
    return shard_get(ctx, name);
}

uint64_t raytrain_dataset_rows(const raytrain_dataset *ds)
{
    return ds ? dataset_rows(ds) : 0;
}

uint64_t raytrain_dataset_epoch(const raytrain_dataset *ds)
{
    struct dataset_state state = {0};

    if (ds)
        dataset_state_get(ds, &state);
    return state.epoch;
}

int raytrain_dataset_column_info(raytrain_dataset *ds, const char *column,
                                 raytrain_tensor *row)
{
    if (!ds || !column || !row)
        return session_null(NULL, __func__,
                            !ds       ? "dataset"
                            : !column ? "column"
                                      : "tensor");
    return session_status(NULL,
                          dataset_column_info(ds, column, row, session_error(NULL)));
}

int raytrain_dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows)
{
    if (!ds)
        return session_null(NULL, __func__, "dataset");
    return session_status(NULL, dataset_set_batch_size(ds, rows, session_error(NULL)));
}

int raytrain_dataset_next(raytrain_dataset *ds, uint64_t *rows)
{
    int rc;

    if (!ds || !rows)
        return session_null(NULL, __func__, ds ? "rows" : "dataset");
    rc = dataset_next(ds, rows, session_error(NULL));
    if (rc > 0)
        *rows = 0;
    return rc > 0 ? RAYTRAIN_END : session_status(NULL, rc);
}

static int place_set(raytrain_dataset *ds, raytrain_device device, int device_id,
                     struct error *err)
{
    const raytrain_tensor like = {.device = (int)device};

    if (tensor_check(&like, NULL) < 0)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "dataset \"%s\": this version knows no device %d",
                         dataset_name(ds), (int)device);
    if (device == RAYTRAIN_HOST && device_id != 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": the device_id of host memory is 0, not %d",
                         dataset_name(ds), device_id);
    if (device == RAYTRAIN_HOST)
        return dataset_set_place(ds, NULL, err);
    return session_dataset_to_device(ds, (int)device, device_id, err);
}

int raytrain_dataset_to_device(raytrain_dataset *ds, raytrain_device device,
                               int device_id)
{
    if (!ds)
        return session_null(NULL, __func__, "dataset");
    return session_status(NULL, place_set(ds, device, device_id, session_error(NULL)));
}

uint64_t raytrain_dataset_padding(const raytrain_dataset *ds)
{
    return ds ? dataset_padding(ds) : 0;
}

int raytrain_dataset_column(raytrain_dataset *ds, const char *column,
                            raytrain_tensor *tensor)
{
    if (!ds || !column || !tensor)
        return session_null(NULL, __func__,
                            !ds       ? "dataset"
                            : !column ? "column"
                                      : "tensor");
    return session_status(NULL,
                          dataset_column(ds, column, tensor, session_error(NULL)));
}

int raytrain_dataset_words(raytrain_dataset *ds, const char *column, uint64_t *n)
{
    const struct dictionary *words;

    if (!ds || !column || !n)
        return session_null(NULL, __func__,
                            !ds       ? "dataset"
                            : !column ? "column"
                                      : "number");
    words = dataset_words(ds, column, session_error(NULL));
    if (words)
        *n = dictionary_count(words);
    return session_status(NULL, words ? 0 : -1);
}

const char *raytrain_dataset_word(raytrain_dataset *ds, const char *column,
                                  int64_t code, uint64_t *bytes)
{
    const struct dictionary *words;
    const char *word;
    size_t n;

    if (!ds || !column) {
        session_null(NULL, __func__, ds ? "column" : "dataset");
        return NULL;
    }
    words = dataset_words(ds, column, session_error(NULL));
    if (!words)
        return NULL;
    if (code < 0 || (uint64_t)code >= dictionary_count(words)) {
        error_set(session_error(NULL), RAYTRAIN_ENOTFOUND,
                  "dataset \"%s\": column \"%s\" has no word with code %lld",
                  dataset_name(ds), column, (long long)code);
        return NULL;
    }
    word = dictionary_word(words, (size_t)code, &n);
    if (bytes)
        *bytes = n;
    return word;
}

int raytrain_dataset_ragged(raytrain_dataset *ds, const char *column,
                            raytrain_ragged *out)
{
    if (!ds || !column || !out)
        return session_null(NULL, __func__,
                            !ds       ? "dataset"
                            : !column ? "column"
                                      : "output");
    return session_status(NULL, dataset_ragged(ds, column, out, session_error(NULL)));
}
