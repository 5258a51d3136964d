/* data_decisions.c - see data_decisions.h. */
#include "config.h"
#include "session/session.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/first_index.h"
#include "session/data_decisions.h"
#include "session/dataset_watch.h"

#define STATE       CHECKPOINT_RESERVED "/session/data"
#define FIRST_INDEX STATE "/first_index"
#define MISSING     STATE "/missing"

static const char *const index_names[] = {
    [FIRST_INDEX_ZERO] = "zero", [FIRST_INDEX_ONE] = "one"};

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

static void missing_clear(struct data_decisions *d)
{
    for (size_t i = 0; i < d->n_missing; i++)
        free(d->missing[i]);
    free(d->missing);
    d->missing = NULL;
    d->n_missing = 0;
}

void data_decisions_clear(struct data_decisions *d)
{
    missing_clear(d);
    *d = (struct data_decisions){.missing = NULL};
}

/* Room for n texts, of which there are none yet. */
static int missing_reserve(struct data_decisions *d, size_t n, struct error *err)
{
    missing_clear(d);
    d->missing = calloc(n + 1, sizeof *d->missing);
    return d->missing ? 0 : no_memory(err);
}

static int missing_add(struct data_decisions *d, const char *text, struct error *err)
{
    d->missing[d->n_missing] = strdup(text);
    if (!d->missing[d->n_missing])
        return no_memory(err);
    d->n_missing++;
    return 0;
}

/* ---- In a checkpoint ---- */

static int damaged(const raytrain_checkpoint *ck, const char *name, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: %s does not hold what raytrain writes there",
                     checkpoint_path(ck), name);
}

/* *text NULL: it has no such string. */
static int text_get(raytrain_checkpoint *ck, const char *name, char **text,
                    struct error *err)
{
    struct error why;

    *text = NULL;
    if (checkpoint_get_string(ck, name, text, &why) == 0)
        return 0;
    *text = NULL;
    return why.code == RAYTRAIN_ENOTFOUND ? 0
                                          : error_set(err, why.code, "%s", why.text);
}

static int first_index_take(struct data_decisions *d, const raytrain_checkpoint *ck,
                            const char *text, struct error *err)
{
    for (int i = FIRST_INDEX_ZERO; i <= FIRST_INDEX_ONE; i++)
        if (strcmp(text, index_names[i]) == 0) {
            d->first_index = (enum first_index)i;
            return 0;
        }
    return damaged(ck, FIRST_INDEX, err);
}

static int missing_take(struct data_decisions *d, const raytrain_checkpoint *ck,
                        const char *text, struct error *err)
{
    json_t *list = json_loads(text, 0, NULL), *item;
    int rc = json_is_array(list) ? missing_reserve(d, json_array_size(list), err)
                                 : damaged(ck, MISSING, err);
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (rc == 0)
            rc = json_is_string(item) ? missing_add(d, json_string_value(item), err)
                                      : damaged(ck, MISSING, err);
    }
    json_decref(list);
    return rc;
}

int data_decisions_load(struct data_decisions *d, raytrain_checkpoint *ck, bool *has,
                        struct error *err)
{
    char *first = NULL, *missing = NULL;
    int rc = text_get(ck, FIRST_INDEX, &first, err);

    if (rc == 0)
        rc = text_get(ck, MISSING, &missing, err);
    if (rc == 0 && first)
        rc = first_index_take(d, ck, first, err);
    if (rc == 0 && missing)
        rc = missing_take(d, ck, missing, err);
    *has = missing != NULL;
    free(first);
    free(missing);
    return rc;
}

static int missing_put(const struct data_decisions *d, raytrain_checkpoint *ck,
                       struct error *err)
{
    json_t *list = json_array();
    char *text = NULL;
    int rc = list ? 0 : no_memory(err);

    for (size_t i = 0; i < d->n_missing && rc == 0; i++)
        if (json_array_append_new(list, json_string(d->missing[i])) < 0)
            rc = no_memory(err);
    if (rc == 0 && !(text = json_dumps(list, JSON_COMPACT)))
        rc = no_memory(err);
    if (rc == 0)
        rc = checkpoint_put_string(ck, MISSING, text, err);
    json_decref(list);
    free(text);
    return rc;
}

int data_decisions_save(const struct data_decisions *d, raytrain_checkpoint *ck,
                        struct error *err)
{
    if (d->by_file)
        return 0;
    if (d->first_index != FIRST_INDEX_AUTO &&
        checkpoint_put_string(ck, FIRST_INDEX, index_names[d->first_index], err) < 0)
        return -1;
    return missing_put(d, ck, err);
}

/* ---- Deciding ---- */

static bool predicts(const raytrain_context *ctx)
{
    return predict_config_predicts(&ctx->env.config->predict);
}

int data_decisions_start(raytrain_context *ctx, struct error *err)
{
    const struct train_config *cfg = ctx->env.config;
    struct data_decisions *d = &ctx->decisions;
    const struct dataset_config *train = NULL;
    int rc;

    if (predicts(ctx) || d->by_file)
        return 0;
    (void)data_config_training_set(cfg->datasets, cfg->n_datasets, &train, NULL);
    if (!train || train->n_missing == 0)
        return 0;
    rc = missing_reserve(d, train->n_missing, err);
    for (size_t i = 0; rc == 0 && i < train->n_missing; i++)
        rc = missing_add(d, train->missing[i], err);
    return rc;
}

/* What the configuration says about the training set, or else about another dataset. */
static enum first_index declared(const struct train_config *cfg)
{
    const struct dataset_config *train = NULL;

    (void)data_config_training_set(cfg->datasets, cfg->n_datasets, &train, NULL);
    if (train && train->first_index != FIRST_INDEX_AUTO)
        return (enum first_index)train->first_index;
    for (size_t i = 0; i < cfg->n_datasets; i++)
        if (cfg->datasets[i].first_index != FIRST_INDEX_AUTO)
            return (enum first_index)cfg->datasets[i].first_index;
    return FIRST_INDEX_AUTO;
}

/* COLLECTIVE */
static int first_index_decide(raytrain_context *ctx, const char *dataset,
                              struct error *err)
{
    const struct train_config *cfg = ctx->env.config;
    struct data_decisions *d = &ctx->decisions;
    struct dataset_watch watch;
    const struct text_watch *w;
    char *directory = NULL;
    int rc = 0;

    d->first_index = declared(cfg);
    if (d->first_index != FIRST_INDEX_AUTO ||
        (!ctx->env.run_dir && ctx->comm->size > 1))
        return 0;
    if (ctx->env.run_dir &&
        asprintf(&directory, "%s/data/%s", ctx->env.run_dir, dataset) < 0) {
        directory = NULL;
        rc = no_memory(err);
    }
    rc = comm_agree(ctx->comm, rc, err);
    w = dataset_watch_begin(&watch, ctx, dataset);
    if (rc == 0)
        rc = first_index_find(ctx->comm, cfg->datasets, cfg->n_datasets, directory, w,
                              &d->first_index, err);
    if (rc < 0)
        d->first_index = FIRST_INDEX_AUTO;
    free(directory);
    return rc;
}

int data_decisions_obey(raytrain_context *ctx, const struct dataset_config *cfg,
                        struct dataset_config *obeying, struct error *err)
{
    struct data_decisions *d = &ctx->decisions;
    bool is_libsvm;

    *obeying = *cfg;
    if (d->by_file)
        return 0;
    if (cfg->n_missing == 0 && d->n_missing > 0) {
        obeying->missing = d->missing;
        obeying->n_missing = d->n_missing;
    }
    if (first_index_applies(ctx->comm, cfg, &is_libsvm, err) < 0)
        return error_prefix(err, "dataset \"%s\"", cfg->name);
    if (!is_libsvm)
        return 0;
    if (d->first_index == FIRST_INDEX_AUTO && !predicts(ctx) &&
        first_index_decide(ctx, cfg->name, err) < 0)
        return -1;
    if (cfg->first_index == FIRST_INDEX_AUTO)
        obeying->first_index = (int)d->first_index;
    return 0;
}
