/* data_decisions.c - decides what data mean, and keeps the decisions in checkpoints. */
#include "config.h"
#include "session/session.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/first_index.h"
#include "session/data_decisions.h"
#include "session/dataset_watch.h"
#include "util/quote.h"

#define STATE       CHECKPOINT_RESERVED "/session/data"
#define FIRST_INDEX STATE "/first_index"
#define MISSING     STATE "/missing"
#define WORDS       STATE "/words"

static const char *const index_names[] = {
    [FIRST_INDEX_ZERO] = "zero", [FIRST_INDEX_ONE] = "one"};

static void texts_clear(struct decided_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->texts[i]);
    free(t->texts);
    *t = (struct decided_texts){.texts = NULL};
}

void data_decisions_clear(struct data_decisions *d)
{
    texts_clear(&d->missing);
    texts_clear(&d->words);
    *d = (struct data_decisions){.first_index = FIRST_INDEX_AUTO};
}

/* Room for n texts, of which there are none yet. */
static int texts_reserve(struct decided_texts *t, size_t n, struct error *err)
{
    texts_clear(t);
    t->texts = calloc(n + 1, sizeof *t->texts);
    return t->texts ? 0 : error_no_memory(err);
}

static int decided_text_add(struct decided_texts *t, const char *text,
                            struct error *err)
{
    t->texts[t->n] = strdup(text);
    if (!t->texts[t->n])
        return error_no_memory(err);
    t->n++;
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

/* A list of texts, JSON. */
static int texts_take(struct decided_texts *t, const raytrain_checkpoint *ck,
                      const char *name, const char *text, struct error *err)
{
    json_t *list = json_loads(text, 0, NULL), *item;
    int rc = json_is_array(list) ? texts_reserve(t, json_array_size(list), err)
                                 : damaged(ck, name, err);
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (rc == 0)
            rc = json_is_string(item)
                     ? decided_text_add(t, json_string_value(item), err)
                     : damaged(ck, name, err);
    }
    json_decref(list);
    return rc;
}

int data_decisions_load(struct data_decisions *d, raytrain_checkpoint *ck, bool *has,
                        struct error *err)
{
    char *first = NULL, *missing = NULL, *words = NULL;
    int rc = text_get(ck, FIRST_INDEX, &first, err);

    if (rc == 0)
        rc = text_get(ck, MISSING, &missing, err);
    if (rc == 0)
        rc = text_get(ck, WORDS, &words, err);
    if (rc == 0 && first)
        rc = first_index_take(d, ck, first, err);
    if (rc == 0 && missing)
        rc = texts_take(&d->missing, ck, MISSING, missing, err);
    if (rc == 0 && words)
        rc = texts_take(&d->words, ck, WORDS, words, err);
    *has = missing != NULL;
    d->has_words = words != NULL;
    free(first);
    free(missing);
    free(words);
    return rc;
}

static int texts_put(const struct decided_texts *t, raytrain_checkpoint *ck,
                     const char *name, struct error *err)
{
    json_t *list = json_array();
    char *text = NULL;
    int rc = list ? 0 : error_no_memory(err);

    for (size_t i = 0; i < t->n && rc == 0; i++)
        if (json_array_append_new(list, json_string(t->texts[i])) < 0)
            rc = error_no_memory(err);
    if (rc == 0 && !(text = json_dumps(list, JSON_COMPACT)))
        rc = error_no_memory(err);
    if (rc == 0)
        rc = checkpoint_put_string(ck, name, text, err);
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
    if (d->has_words && texts_put(&d->words, ck, WORDS, err) < 0)
        return -1;
    return texts_put(&d->missing, ck, MISSING, err);
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
    rc = texts_reserve(&d->missing, train->n_missing, err);
    for (size_t i = 0; rc == 0 && i < train->n_missing; i++)
        rc = decided_text_add(&d->missing, train->missing[i], err);
    return rc;
}

static bool is_training_set(const raytrain_context *ctx,
                            const struct dataset_config *cfg)
{
    const struct train_config *all = ctx->env.config;
    const struct dataset_config *train = NULL;

    (void)data_config_training_set(all->datasets, all->n_datasets, &train, NULL);
    return train && strcmp(train->name, cfg->name) == 0;
}

int data_decisions_learn(raytrain_context *ctx, const struct dataset_config *cfg,
                         const raytrain_dataset *ds, struct error *err)
{
    const struct frame *columns = dataset_columns(ds);
    struct data_decisions *d = &ctx->decisions;
    int rc;

    if (d->has_words || d->by_file || predicts(ctx) || !is_training_set(ctx, cfg))
        return 0;
    rc = texts_reserve(&d->words, columns->n_columns, err);
    for (size_t i = 0; rc == 0 && i < columns->n_columns; i++) {
        const struct frame_column *c = &columns->columns[i];

        /* A name that is not UTF-8 cannot be kept. */
        if (c->kind == FRAME_WORDS && utf8_length(c->name) >= 0)
            rc = decided_text_add(&d->words, c->name, err);
    }
    d->has_words = rc == 0;
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
        rc = error_no_memory(err);
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
    if (cfg->n_missing == 0 && d->missing.n > 0) {
        obeying->missing = d->missing.texts;
        obeying->n_missing = d->missing.n;
    }
    obeying->words = d->words.texts;
    obeying->n_words = d->words.n;
    obeying->words_matter = predicts(ctx) || !is_training_set(ctx, cfg);
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
