/*
 * xgboost.c - trees by XGBoost; see booster.h.
 *
 * The library computes metrics, and combines them over the members, except for auc with
 * several members (xgboost_auc.h).
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xgboost/xgboost_auc.h"
#include "xgboost/xgboost_booster.h"
#include "xgboost/xgboost_gaps.h"
#include "xgboost/xgboost_params.h"
#include "xgboost/xgboost_predict.h"
#include "xgboost/xgboost_text.h"

static int impl_oom(struct error *err)
{
    return error_no_memory(err);
}

static int xgboost_open(struct error *err)
{
    return xgboost_library(err) ? 0 : -1;
}

static void xgboost_version(char text[32])
{
    const struct xgboost_library *x = xgboost_library(NULL);

    text[0] = '\0';
    if (x)
        snprintf(text, 32, "%d.%d.%d", x->major, x->minor, x->patch);
}

static void still_here(struct booster *b)
{
    if (b->env.goes_on)
        b->env.goes_on(b->env.arg);
}

/* ---- A booster ---- */

static int xgboost_create(struct booster *b, struct error *err)
{
    struct comm *c = b->env.comm;
    struct xgboost_impl *impl;
    int rc = xgboost_impl_make(b, err);

    xgboost_speaker_set(NULL);
    if (c && c->size > 1)
        rc = comm_agree(c, rc, err);
    impl = b->impl;
    if (rc == 0 && c && c->size > 1)
        rc = xgboost_group_join(impl->x, c, b->env.world, &impl->group, err);
    xgboost_speaker_set(b);
    return rc;
}

static void xgboost_destroy(struct booster *b, bool clean)
{
    struct xgboost_impl *impl = b->impl;

    xgboost_speaker_leave(b);
    if (!impl)
        return;
    if (impl->model)
        (void)impl->x->XGBoosterFree(impl->model);
    for (size_t i = 0; i < impl->n; i++) {
        (void)impl->x->XGDMatrixFree(impl->matrices[i]);
        free(impl->names[i]);
    }
    xgboost_group_leave(impl->group, clean);
    free(impl->matrices);
    free(impl->names);
    free(impl);
    b->impl = NULL;
}

/* ---- Datasets ---- */

static int matrix_keep(struct xgboost_impl *impl, const char *name, struct error *err)
{
    void **matrices = reallocarray(impl->matrices, impl->n + 1, sizeof *matrices);
    char **names;

    if (!matrices)
        return impl_oom(err);
    impl->matrices = matrices;
    names = reallocarray(impl->names, impl->n + 1, sizeof *names);
    if (!names)
        return impl_oom(err);
    impl->names = names;
    impl->names[impl->n] = strdup(name);
    impl->matrices[impl->n] = NULL;
    return impl->names[impl->n] ? 0 : impl_oom(err);
}

static int matrix_add(struct booster *b, struct gbdt_rows *rows, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    void *matrix = NULL;

    if (xgboost_matrix_make(impl->x, &impl->options, rows, b->env.features->n, &matrix,
                            err) < 0) {
        free(impl->names[impl->n]);
        return -1;
    }
    gbdt_rows_drop_values(rows);
    impl->matrices[impl->n++] = matrix;
    if (xgboost_matrix_describe_rows(impl->x, matrix, rows, err) < 0)
        return -1;
    return xgboost_matrix_describe_features(impl->x, matrix, false, &impl->options,
                                            b->env.features, err);
}

static int xgboost_add(struct booster *b, struct gbdt_rows *rows, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    bool more = false;
    int rc = matrix_keep(impl, rows->name, err);

    still_here(b);
    if (impl->group && impl->n == 0) {
        rc = comm_agree(b->env.comm, rc, err);
        if (rc == 0)
            rc = xgboost_gaps_add(impl->x, b->env.comm, &impl->options, rows,
                                  b->env.features->n, &more, err);
    }
    if (rc == 0)
        rc = matrix_add(b, rows, err);
    if (more)
        xgboost_gaps_remove(rows);
    if (rc < 0)
        xgboost_group_break(impl->group);
    still_here(b);
    return rc;
}

/* ---- Training ---- */

static int xgboost_begin(struct booster *b, const void *bytes, size_t n,
                         struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    const struct xgboost_library *x = impl->x;

    if (x->XGBoosterCreate(impl->matrices, impl->n, &impl->model) != 0)
        return xgboost_impl_fail(b, "XGBoost", err);
    if (bytes && x->XGBoosterLoadModelFromBuffer(impl->model, bytes, n) != 0)
        return xgboost_impl_fail(b, "the model of the checkpoint", err);
    if (x->XGBoosterSetAttr(impl->model, "best_iteration", NULL) != 0 ||
        x->XGBoosterSetAttr(impl->model, "best_score", NULL) != 0)
        return xgboost_impl_fail(b, "XGBoost", err);
    if (xgboost_params_set(b, err) < 0)
        return -1;
    if (xgboost_matrix_describe_features(x, impl->model, true, &impl->options,
                                         b->env.features, err) < 0) {
        xgboost_group_break(impl->group);
        return -1;
    }
    return xgboost_params_check(b, err);
}

static int xgboost_update(struct booster *b, int round, bool *full, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    char what[32];

    *full = false;
    if (xgboost_params_renew(b, err) < 0)
        return -1;
    if (impl->x->XGBoosterUpdateOneIter(impl->model, round, impl->matrices[0]) == 0) {
        impl->updated = true;
        return 0;
    }
    snprintf(what, sizeof what, "round %d", round);
    return xgboost_impl_fail(b, what, err);
}

static int xgboost_evaluate(struct booster *b, int round, struct gbdt_scores *scores,
                            struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    const char *line;

    if (impl->x->XGBoosterEvalOneIter(impl->model, round, impl->matrices,
                                      (const char **)impl->names, impl->n, &line) != 0)
        return xgboost_impl_fail(b, "params.eval_metric", err);
    if (xgboost_text_scores(line, (const char *const *)impl->names, impl->n, scores,
                            err) < 0) {
        xgboost_group_break(impl->group);
        return -1;
    }
    return impl->group ? xgboost_auc_replace(b, scores, err) : 0;
}

static int xgboost_rounds(struct booster *b, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    int n = 0;

    if (impl->model && impl->x->XGBoosterBoostedRounds(impl->model, &n) != 0)
        return xgboost_fail(impl->x, RAYTRAIN_EFAILED, "XGBoost's rounds", err);
    return n;
}

/* ---- The model ---- */

/* As Python writes it: the fewest digits from which the same bits are read. */
static void score_text(double score, char text[32])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, score);
        if (isnan(score) || strtod(text, NULL) == score)
            return;
    }
}

static int best_mark(const struct xgboost_library *x, void *model, int round,
                     double score, struct error *err)
{
    char number[16], text[32];

    snprintf(number, sizeof number, "%d", round);
    score_text(score, text);
    if (x->XGBoosterSetAttr(model, "best_iteration", round < 0 ? NULL : number) != 0 ||
        x->XGBoosterSetAttr(model, "best_score", round < 0 ? NULL : text) != 0)
        return xgboost_fail(x, RAYTRAIN_EFAILED, "the best round", err);
    return 0;
}

/* A linear model has no trees, so its first rounds cannot be taken from it. */
static bool is_linear(const struct booster *b)
{
    const json_t *kind = json_object_get(b->env.config->params, "booster");

    return json_is_string(kind) && strcmp(json_string_value(kind), "gblinear") == 0;
}

/* The model of the first `rounds` rounds, to be released by slice_end(): the booster's
 * own if it does not have more. */
static void *slice_begin(struct booster *b, int rounds, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    void *slice;

    if (rounds == 0 || is_linear(b) || rounds == xgboost_rounds(b, err))
        return impl->model;
    if (impl->x->XGBoosterSlice(impl->model, 0, rounds, 1, &slice) == 0)
        return slice;
    xgboost_fail(impl->x, RAYTRAIN_ENOTSUP, "the model up to its best round", err);
    return NULL;
}

static void slice_end(struct booster *b, void *slice)
{
    struct xgboost_impl *impl = b->impl;

    if (slice && slice != impl->model)
        (void)impl->x->XGBoosterFree(slice);
}

static int xgboost_save(struct booster *b, int rounds, int best_round,
                        double best_score, void **bytes, size_t *n, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    const struct xgboost_library *x = impl->x;
    void *model = slice_begin(b, rounds, err);
    int rc = model ? best_mark(x, model, best_round, best_score, err) : -1;

    if (rc == 0)
        rc = xgboost_bytes(x, model, "ubj", bytes, n, err);
    if (rc == 0 && model == impl->model)
        rc = best_mark(x, model, -1, 0, err);
    slice_end(b, model);
    return rc;
}

/* The library gives scores of the features that it has used, by name: set the names to
 * the numbers of the features. */
static char *score_config(const char *type, size_t n)
{
    json_t *names = json_array(), *config;
    char number[24], *text;

    for (size_t i = 0; i < n; i++) {
        snprintf(number, sizeof number, "%zu", i);
        json_array_append_new(names, json_string(number));
    }
    config = json_pack("{s:s, s:o}", "importance_type", type, "feature_names", names);
    text = config ? json_dumps(config, JSON_COMPACT) : NULL;
    json_decref(config);
    return text;
}

static int scores_fill(struct booster *b, void *model, const char *type, double *out,
                       struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    size_t n = b->env.features->n;
    char *config = score_config(type, n);
    uint64_t n_used = 0, dim = 0;
    const uint64_t *shape;
    const char **names;
    const float *scores;
    int rc;

    memset(out, 0, n * sizeof *out);
    if (!config)
        return impl_oom(err);
    rc = impl->x->XGBoosterFeatureScore(model, config, &n_used, &names, &dim, &shape,
                                        &scores);
    free(config);
    if (rc != 0)
        return xgboost_fail(impl->x, RAYTRAIN_EFAILED, "importances", err);
    for (uint64_t i = 0; i < n_used; i++) {
        unsigned long f = strtoul(names[i], NULL, 10);

        if (f < n)
            out[f] = (double)scores[i];
    }
    return 0;
}

static int xgboost_importance(struct booster *b, int rounds,
                              struct gbdt_importance *out, struct error *err)
{
    void *model;
    int rc = -1;

    if (is_linear(b)) {
        memset(out->gain, 0, b->env.features->n * sizeof *out->gain);
        memset(out->splits, 0, b->env.features->n * sizeof *out->splits);
        return 0;
    }
    model = slice_begin(b, rounds, err);
    if (model && scores_fill(b, model, "total_gain", out->gain, err) == 0)
        rc = scores_fill(b, model, "weight", out->splits, err);
    slice_end(b, model);
    return rc;
}

extern const struct booster_ops booster_xgboost;
const struct booster_ops booster_xgboost = {
    .name = "xgboost",
    .file = "model.ubj",
    .wide = false,
    .open = xgboost_open,
    .version = xgboost_version,
    .ranks = xgboost_params_rank,
    .create = xgboost_create,
    .add = xgboost_add,
    .begin = xgboost_begin,
    .update = xgboost_update,
    .evaluate = xgboost_evaluate,
    .save = xgboost_save,
    .importance = xgboost_importance,
    .rounds = xgboost_rounds,
    .load = xgboost_load,
    .shape = xgboost_shape,
    .predict = xgboost_predict,
    .convert = xgboost_convert,
    .destroy = xgboost_destroy,
};
