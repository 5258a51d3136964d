/*
 * gbdt_loop.c - the training loop of the trainers "xgboost" and "lightgbm". It reads
 * rows into memory, makes a booster, and boosts rounds. Each round is a report, with a
 * checkpoint if one is due.
 *
 * The members are the ranks that have rows of the training set; rank 0 always is one.
 * The other ranks wait in the reports. Rank 0 sends the outcome of each round to all of
 * them, so that ranks cannot decide differently.
 *
 * The life of a training of trees:
 *
 *   1. `raytrain-run --trainer xgboost` starts `raytrain-worker --trainer xgboost`. The
 *      library is opened before the group forms (xgboost/xgboost_library.c).
 *   2. Each rank reads its rows of every dataset into memory (rows_load.c, columns.c):
 *      adjacent rows, without dividing queries.
 *   3. The booster (booster.h) connects the members, copies the rows into the library's
 *      matrices, and continues the model of the checkpoint, if there is one
 *      (model_record.c).
 *   4. In each round the library adds trees and evaluates them. Rank 0 broadcasts the
 *      scores. All ranks decide about early stopping (early_stopping.c), and report.
 *   5. If a checkpoint is due, and in the last round, rank 0 attaches the model.
 */
#include "loop/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/first_index.h"
#include "gbdt/booster.h"
#include "gbdt/early_stopping.h"
#include "gbdt/gbdt_predict.h"
#include "gbdt/model_record.h"
#include "gbdt/queries.h"
#include "gbdt/rows_load.h"
#include "rank/event.h"
#include "rank/stop.h"
#include "session/collectives.h"
#include "session/datasets.h"
#include "session/session.h"
#include "session/signs.h"
#include "util/fault.h"
#include "util/fs.h"

/* The outcome of a round, which rank 0 sends to all. */
struct outcome {
    struct gbdt_scores scores;
    bool full; /* the library cannot add another tree */
};

struct training {
    raytrain_context *ctx;
    const struct booster_ops *ops;
    const struct gbdt_config *cfg;
    struct comm *comm, *members; /* all ranks; the members, NULL on other ranks */
    struct gbdt_columns columns;
    struct gbdt_features features;
    struct gbdt_rows *sets; /* the training set, and then the others */
    size_t n_sets;
    struct booster booster;
    struct model_saving saving;
    struct model_record record;
    struct outcome outcome;
    bool stopping; /* early */
    bool noted_queries;
};

/* ---- Messages of the library, and requests to stop while rows are read ---- */

/* Everything except rank 0's warnings goes to the log of this worker, where the library
 * would print it by itself. */
static void training_library_says(void *arg, enum gbdt_severity severity,
                                  const char *line)
{
    const raytrain_context *ctx = arg;
    char text[1024];
    int n;

    if (severity == GBDT_WARNING && ctx->comm->rank == 0) {
        event_add(ctx->env.log_dir, EVENT_WARNING, "%s: %s", ctx->env.config->trainer,
                  line);
        return;
    }
    n = snprintf(text, sizeof text, "%.1000s\n", line);
    if (n > 0)
        (void)fs_write_full(STDOUT_FILENO, text, (size_t)n);
}

static void training_library_goes_on(void *arg)
{
    sign_of_progress(arg);
}

static int block_begins(void *arg, struct error *err)
{
    raytrain_context *ctx = arg;

    sign_of_progress(ctx);
    if (stop_requested())
        return error_set(err, RAYTRAIN_ESTOPPED,
                         "stopped on request while the rows were read");
    return 0;
}

/* ---- Rows ---- */

/* The column of the labels: that of the trainer, of the dataset, or "label". */
static const char *label_of(const struct training *t, const struct dataset_config *ds)
{
    if (t->cfg->label)
        return t->cfg->label;
    return ds->label ? ds->label : GBDT_LABEL;
}

/* COLLECTIVE: open a dataset of which each rank gets all rows in their order. */
static int dataset_begin(struct training *t, const struct dataset_config *cfg,
                         raytrain_dataset **ds, struct error *err)
{
    raytrain_context *ctx = t->ctx;
    struct dataset_config plain = *cfg;
    struct dataset_env env = {.rank = 0,
                              .size = 1,
                              .node = session_node_comm(ctx, err),
                              .seed = ctx->env.config->seed,
                              .chain = cfg->preprocess && ctx->chain.n > 0 ? &ctx->chain
                                                                           : NULL};
    int rc;

    plain.shuffle = false;
    plain.last_batch = LAST_BATCH_KEEP;
    if (!env.node)
        return -1;
    collective_wait_begin(&ctx->waiting, "open dataset");
    rc = session_dataset_open(ctx, &plain, &env, ds, err);
    if (comm_agree(t->comm, rc, err) < 0)
        return -1;
    return dataset_compare(*ds, t->comm, err);
}

/* Take the columns from the training set, which comes first, and check the others. */
static int columns_settle(struct training *t, const struct dataset_config *cfg,
                          bool libsvm, raytrain_dataset *ds, struct error *err)
{
    const struct frame *schema = dataset_schema(ds);
    const struct gbdt_columns_use use = {.dataset = {cfg->name, ds, cfg},
                                         .label = label_of(t, cfg),
                                         .config = t->cfg,
                                         .libsvm = libsvm,
                                         .ranks = t->ops->ranks(t->cfg)};

    if (t->columns.list)
        return gbdt_columns_check(&t->columns, schema, &use.dataset, err);
    if (gbdt_columns_find(schema, &use, &t->columns, err) < 0)
        return -1;
    if (gbdt_columns_features(&t->columns, t->cfg, &t->features, err) < 0)
        return error_prefix(err, "dataset \"%s\"", cfg->name);
    return 0;
}

/* On rank 0, name what is not used: columns, and queries of LIBSVM text if the
 * objective does not rank. */
static int training_unused_note(struct training *t, const struct dataset_config *cfg,
                                const raytrain_dataset *ds, struct error *err)
{
    const struct frame *schema = dataset_schema(ds);
    const char *log_dir = t->ctx->env.log_dir;
    char text[ERROR_TEXT_MAX / 2];

    if (t->comm->rank != 0)
        return 0;
    if (gbdt_columns_unused(&t->columns, schema, text, sizeof text, err) < 0)
        return -1;
    if (text[0])
        event_add(log_dir, EVENT_NOTE, "dataset \"%s\": these columns are not used: %s",
                  cfg->name, text);
    if (!t->noted_queries && gbdt_columns_spares_queries(&t->columns, schema)) {
        t->noted_queries = true;
        event_add(
            log_dir, EVENT_NOTE,
            "dataset \"%s\": the queries of its rows (qid) are not used: the "
            "objective does not rank; qid = \"qid\" uses them for metrics such as "
            "ndcg",
            cfg->name);
    }
    return 0;
}

/* COLLECTIVE: read this rank's rows of a dataset. Each rank has a part of the training
 * set, each member a part of every other dataset. */
static int rows_read(struct training *t, const struct dataset_config *cfg,
                     raytrain_dataset *ds, struct gbdt_rows *rows, struct error *err)
{
    struct comm *parts = rows == t->sets ? t->comm : t->members;
    struct rows_job job = {.columns = &t->columns,
                           .config = cfg,
                           .wide = t->ops->wide,
                           .block = block_begins,
                           .arg = t->ctx};

    if (!parts)
        return 0;
    job.rank = parts->rank;
    job.size = parts->size;
    if (comm_agree(parts, gbdt_rows_load(ds, &job, rows, err), err) < 0)
        return -1;
    return gbdt_queries_check(ds, &job, parts, rows, err);
}

/* COLLECTIVE */
static int dataset_load(struct training *t, const struct dataset_config *cfg,
                        struct error *err)
{
    raytrain_dataset *ds = NULL;
    bool libsvm = false;
    int rc = dataset_begin(t, cfg, &ds, err);

    if (rc == 0)
        rc = first_index_applies(t->comm, cfg, &libsvm, err);
    if (rc == 0)
        rc = comm_agree(t->comm, columns_settle(t, cfg, libsvm, ds, err), err);
    if (rc == 0)
        rc = comm_agree(t->comm, training_unused_note(t, cfg, ds, err), err);
    collective_wait_begin(&t->ctx->waiting, "read dataset");
    if (rc == 0)
        rc =
            comm_agree(t->comm, rows_read(t, cfg, ds, &t->sets[t->n_sets++], err), err);
    dataset_close(ds);
    return rc;
}

/* COLLECTIVE */
static int members_find(struct training *t, struct error *err)
{
    if (t->comm->ops->split(t->comm, t->sets[0].n > 0, &t->members, err) < 0)
        return -1;
    if (t->members) {
        t->members->waiting = collective_wait_hook;
        t->members->waiting_arg = &t->ctx->waiting;
    }
    return 0;
}

/* COLLECTIVE: load the training set, then the others in their order. */
static int datasets_load(struct training *t, struct error *err)
{
    const struct train_config *cfg = t->ctx->env.config;
    size_t n = cfg->n_datasets;
    int rc;

    t->sets = calloc(n, sizeof *t->sets);
    rc = comm_agree(t->comm, t->sets ? 0 : error_no_memory(err), err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (strcmp(cfg->datasets[i].name, GBDT_TRAIN) == 0)
            rc = dataset_load(t, &cfg->datasets[i], err);
    if (rc == 0)
        rc = members_find(t, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (strcmp(cfg->datasets[i].name, GBDT_TRAIN) != 0)
            rc = dataset_load(t, &cfg->datasets[i], err);
    return rc;
}

/* ---- The booster ---- */

/* A complete training continues if the configuration now has more rounds or more
 * patience. It continues from the best round, whose model it kept. */
static void restored_settle(struct training *t)
{
    struct model_record *r = &t->record;
    int64_t since = r->round - 1 - r->early.best_round;

    r->early.patience = t->cfg->early_stopping_rounds;
    if (!r->finished || r->round >= t->cfg->num_boost_round)
        return;
    r->finished =
        r->early.patience > 0 && r->early.best_round >= 0 && since >= r->early.patience;
    if (!r->finished && r->early.best_round >= 0)
        r->round = r->early.best_round + 1;
}

/* A model knows features by their numbers: with other columns, what it learns and
 * predicts would be wrong. */
static int training_features_check(const struct training *t, raytrain_checkpoint *ck,
                                   struct error *err)
{
    char *before = NULL;
    int rc = 0;

    if (!t->saving.features ||
        raytrain_checkpoint_get_string(ck, GBDT_FEATURES, &before))
        return 0;
    if (strcmp(before, t->saving.features) != 0)
        rc = error_set(
            err, RAYTRAIN_EINVAL,
            "the training set has other features than the model of the "
            "checkpoint, or in another order: %.500s, and not %.500s; give it "
            "the same columns (datasets.train.columns), or start a new run",
            t->saving.features, before);
    free(before);
    return rc;
}

/* Load the model and its record from the checkpoint that the attempt starts from. */
static int restore(struct training *t, void **bytes, size_t *n, struct error *err)
{
    raytrain_checkpoint *ck = raytrain_get_checkpoint(t->ctx);

    early_stopping_init(&t->record.early, t->cfg);
    if (!ck)
        return 0;
    if (model_record_get(ck, t->ops, &t->record, bytes, n, err) < 0 ||
        training_features_check(t, ck, err) < 0)
        return -1;
    raytrain_checkpoint_close(ck);
    restored_settle(t);
    return 0;
}

/* COLLECTIVE over the members: make the booster, and give it all rows. */
static int booster_make(struct training *t, const void *bytes, size_t n,
                        struct error *err)
{
    struct booster *b = &t->booster;
    int rc;

    b->ops = t->ops;
    b->env = (struct booster_env){
        .comm = t->members,
        .world = t->ctx->env.world,
        .threads = t->ctx->env.config->scaling_config.cpus_per_worker,
        .config = t->cfg,
        .features = &t->features,
        .model = bytes,
        .model_size = n,
        .seed = t->ctx->env.config->seed,
        .say = training_library_says,
        .goes_on = training_library_goes_on,
        .arg = t->ctx};
    rc = b->ops->create(b, err);
    for (size_t i = 0; rc == 0 && i < t->n_sets; i++) {
        rc = b->ops->add(b, &t->sets[i], err);
        gbdt_rows_drop_values(&t->sets[i]);
        sign_of_progress(t->ctx);
    }
    return rc == 0 ? b->ops->begin(b, bytes, n, err) : -1;
}

/* COLLECTIVE */
static int booster_begin(struct training *t, struct error *err)
{
    void *bytes = NULL;
    size_t n = 0;
    int rc = comm_agree(t->comm, restore(t, &bytes, &n, err), err);

    if (rc == 0 && t->members && !t->record.finished) {
        collective_wait_begin(&t->ctx->waiting, "begin boosting");
        rc = booster_make(t, bytes, n, err);
        t->booster.env.model = NULL;
    }
    free(bytes);
    return rc;
}

/* ---- A checkpoint ---- */

static int importance_get(struct training *t, int rounds, struct gbdt_importance *to,
                          struct error *err)
{
    to->gain = calloc(t->features.n, sizeof *to->gain);
    to->splits = calloc(t->features.n, sizeof *to->splits);
    if (!to->gain || !to->splits)
        return error_no_memory(err);
    return t->ops->importance(&t->booster, rounds, to, err);
}

/* Rank 0: take the model; in the last round, that of the best round. */
static int model_take(struct training *t, bool last, struct error *err)
{
    const struct early_stopping *early = &t->record.early;
    struct model_bytes *m = &t->saving.model;
    int rounds = last && early->best_round >= 0 ? (int)early->best_round + 1 : 0;

    if (t->ops->save(&t->booster, rounds, (int)early->best_round, early->best_score,
                     &m->bytes, &m->n, err) < 0)
        return -1;
    return importance_get(t, rounds, &m->importance, err);
}

static int checkpoint_make(struct training *t, bool last, raytrain_checkpoint **ck,
                           struct error *err)
{
    raytrain_context *ctx = t->ctx;

    t->record.finished = last;
    t->saving.record = t->record;
    if (t->comm->rank == 0 && model_take(t, last, err) < 0)
        return -1;
    *ck = raytrain_checkpoint_create(ctx);
    if (*ck && model_saving_put(&t->saving, *ck) == RAYTRAIN_OK)
        return 0;
    raytrain_checkpoint_discard(*ck);
    *ck = NULL;
    if (err != &ctx->error)
        *err = ctx->error;
    return -1;
}

/* ---- Rounds ---- */

/* COLLECTIVE: boost a round, and set t->outcome to the same on every rank. */
static int round_boost(struct training *t, struct error *err)
{
    int round = (int)t->record.round;

    (void)fault_point("gbdt.round", round);
    (void)fault_point("gbdt.update", t->comm->rank);
    memset(&t->outcome, 0, sizeof t->outcome);
    collective_wait_begin(&t->ctx->waiting, "boosting round");
    if (t->members &&
        (t->ops->update(&t->booster, round, &t->outcome.full, err) < 0 ||
         t->ops->evaluate(&t->booster, round, &t->outcome.scores, err) < 0))
        return -1;
    if (t->comm->ops->bcast(t->comm, &t->outcome, sizeof t->outcome, 0, err) < 0)
        return -1;
    t->record.round++;
    return early_stopping_look(&t->record.early, t->cfg, &t->outcome.scores, round,
                               &t->stopping, err);
}

static void stop_note(const struct training *t)
{
    const struct early_stopping *early = &t->record.early;

    if (t->comm->rank != 0 || early->best_round < 0)
        return;
    if (t->stopping)
        event_add(t->ctx->env.log_dir, EVENT_NOTE,
                  "early stopping: %s has not improved for %d rounds", early->metric,
                  early->patience);
    event_add(t->ctx->env.log_dir, EVENT_NOTE,
              "the model is that of round %lld of %lld, the best one: %s = %g",
              (long long)early->best_round + 1, (long long)t->record.round,
              early->metric, early->best_score);
}

static int round_report(struct training *t, bool last, struct error *err)
{
    raytrain_metric metrics[GBDT_SCORES_MAX];
    const struct gbdt_scores *scores = &t->outcome.scores;
    raytrain_checkpoint *ck = NULL;
    int rc;

    for (size_t i = 0; i < scores->n; i++)
        metrics[i] = (raytrain_metric){scores->list[i].name, scores->list[i].value};
    if ((raytrain_should_checkpoint(t->ctx) || last) &&
        checkpoint_make(t, last, &ck, err) < 0)
        return -1;
    rc = raytrain_report_rank0(t->ctx, metrics, scores->n, ck);
    model_bytes_clear(&t->saving.model);
    if (!rc)
        return 0;
    if (err != &t->ctx->error)
        *err = t->ctx->error;
    return -1;
}

static int rounds_run(struct training *t, struct error *err)
{
    bool last = t->record.finished || t->record.round >= t->cfg->num_boost_round;

    while (!last && !raytrain_should_stop(t->ctx)) {
        if (round_boost(t, err) < 0)
            return -1;
        last = t->stopping || t->outcome.full ||
               t->record.round >= t->cfg->num_boost_round;
        if (last)
            stop_note(t);
        if (round_report(t, last, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- The training ---- */

static int training_begin(struct training *t, struct error *err)
{
    if (t->ctx->comm->ops->dup(t->ctx->comm, &t->comm, err) < 0)
        return -1;
    t->comm->waiting = collective_wait_hook;
    t->comm->waiting_arg = &t->ctx->waiting;
    if (datasets_load(t, err) < 0)
        return -1;
    if (comm_agree(t->comm,
                   model_saving_init(&t->saving, t->ops, t->comm->rank, t->cfg,
                                     &t->features, err),
                   err) < 0)
        return -1;
    return booster_begin(t, err);
}

/* Unless `clean`, other ranks may be waiting in a communicator. */
static void training_end(struct training *t, bool clean)
{
    if (t->booster.ops)
        t->ops->destroy(&t->booster, clean);
    for (size_t i = 0; t->sets && i < t->n_sets; i++)
        gbdt_rows_clear(&t->sets[i]);
    free(t->sets);
    gbdt_columns_clear(&t->columns);
    gbdt_features_clear(&t->features);
    model_saving_clear(&t->saving);
    if (!clean)
        return;
    comm_free(t->members);
    comm_free(t->comm);
}

static int gbdt_train(raytrain_context *ctx, const struct booster_ops *ops)
{
    struct training t = {.ctx = ctx, .ops = ops, .cfg = &ctx->env.config->gbdt};
    struct error err = {0};
    int rc = training_begin(&t, &err);

    if (rc == 0)
        rc = rounds_run(&t, &err);
    training_end(&t, rc == 0);
    if (rc == 0)
        return RAYTRAIN_OK;
    if (err.code == RAYTRAIN_ESTOPPED) { /* on all ranks */
        ctx->stop_reason = STOP_ASKED;
        ctx->should_stop = true;
    }
    ctx->error = err;
    return (int)err.code;
}

/* ---- The loop ---- */

static int gbdt_open(struct loop *loop, struct error *err)
{
    const struct booster_ops *ops = booster_find(loop->source.trainer);

    if (!ops)
        return error_set(err, RAYTRAIN_EINVAL, "there is no trainer \"%s\"",
                         loop->source.trainer);
    loop->impl = (void *)(uintptr_t)ops;
    return ops->open(err);
}

static int gbdt_run(struct loop *loop, raytrain_context *ctx)
{
    const struct booster_ops *ops = loop->impl;

    if (loop->source.predicts)
        return gbdt_predict(ctx, loop->predictor);
    return gbdt_train(ctx, ops);
}

const struct loop_ops loop_gbdt = {
    .open = gbdt_open,
    .run = gbdt_run,
};
