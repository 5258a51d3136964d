/* xgboost_params.c - parameters of XGBoost: the user's, and raytrain's defaults. */
#include "config.h"

#include "xgboost/xgboost_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"
#include "xgboost/xgboost_booster.h"

static bool has(const json_t *params, const char *name, const char *alias)
{
    return json_object_get(params, name) || (alias && json_object_get(params, alias));
}

static const char *booster_kind(const json_t *params)
{
    const char *kind = json_string_value(json_object_get(params, "booster"));

    return kind ? kind : "gbtree";
}

bool xgboost_params_rank(const struct gbdt_config *cfg)
{
    const char *objective =
        json_string_value(json_object_get(cfg->params, "objective"));

    return objective && strncmp(objective, "rank:", strlen("rank:")) == 0;
}

static int param_set(struct booster *b, const char *name, const char *value,
                     struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    char what[RAYTRAIN_NAME_MAX + 16];

    if (impl->x->XGBoosterSetParam(impl->model, name, value) == 0)
        return 0;
    snprintf(what, sizeof what, "params.%s", name);
    return xgboost_impl_fail(b, what, err);
}

/*
 * Set before the user's parameters, which override them.
 *
 * hist: XGBoost would choose between exact (one process, few rows), approx (several)
 * and hist (since 2.0), and the model would depend on the number of workers.
 * seed_per_iteration: samples depend on the number of the round, so that a resumed run
 * draws the same ones; with several members they do in any case. validate_parameters:
 * XGBoost's Python module sets it too.
 */
static int defaults_set(struct booster *b, const json_t *params, struct error *err)
{
    const json_t *kind = json_object_get(params, "booster");
    bool trees =
        !json_is_string(kind) || strcmp(json_string_value(kind), "gblinear") != 0;
    char threads[16], seed[16];

    snprintf(threads, sizeof threads, "%d", b->env.threads);
    snprintf(seed, sizeof seed, "%u", (unsigned)(b->env.seed & INT32_MAX));
    if (param_set(b, "validate_parameters", "1", err) < 0)
        return -1;
    if (!has(params, "nthread", "n_jobs") && param_set(b, "nthread", threads, err) < 0)
        return -1;
    if (!has(params, "seed", "random_state") && param_set(b, "seed", seed, err) < 0)
        return -1;
    if (!has(params, "seed_per_iteration", NULL) &&
        param_set(b, "seed_per_iteration", "1", err) < 0)
        return -1;
    if (trees && !has(params, "tree_method", "updater"))
        return param_set(b, "tree_method", "hist", err);
    return 0;
}

/* ---- Constraints, which may name features, as in XGBoost's Python module ---- */

/* The number of a feature that is given by name or number. NULL: no such feature. */
static json_t *feature_number(const struct gbdt_features *f, const json_t *which)
{
    const char *name = json_string_value(which);

    if (json_is_integer(which))
        return json_integer(json_integer_value(which));
    for (size_t i = 0; name && f->names && i < f->n; i++)
        if (strcmp(f->names[i], name) == 0)
            return json_integer((json_int_t)i);
    return NULL;
}

static int feature_unknown(const char *param, const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL, "params.%s: there is no feature %s", param,
                     quote(name ? name : "", quoted));
}

/* Turn { x1 = 1; } into a list with a number for each feature. */
static json_t *monotone_list(const struct gbdt_features *f, const json_t *by_name,
                             struct error *err)
{
    json_t *list = json_array(), *value;
    const char *name;

    for (size_t i = 0; i < f->n; i++)
        json_array_append_new(list, json_integer(0));
    json_object_foreach((json_t *)by_name, name, value)
    {
        json_t *text = json_string(name), *number = feature_number(f, text);

        json_decref(text);
        if (!number) {
            json_decref(list);
            feature_unknown("monotone_constraints", name, err);
            return NULL;
        }
        json_array_set(list, (size_t)json_integer_value(number), value);
        json_decref(number);
    }
    return list;
}

/* Turn [["x1", "x2"], [2, 3]] into numbers. */
static json_t *interaction_lists(const struct gbdt_features *f, const json_t *groups,
                                 struct error *err)
{
    json_t *lists = json_array(), *group, *which;
    size_t i, k;

    json_array_foreach((json_t *)groups, i, group)
    {
        json_t *list = json_array();

        json_array_append_new(lists, list);
        json_array_foreach(group, k, which)
        {
            json_t *number = feature_number(f, which);

            if (!number) {
                feature_unknown("interaction_constraints", json_string_value(which),
                                err);
                json_decref(lists);
                return NULL;
            }
            json_array_append_new(list, number);
        }
    }
    return lists;
}

/* XGBoost takes [1, 0, -1] as a tuple: (1, 0, -1). */
static json_t *monotone_text(json_t *list)
{
    char *text = json_dumps(list, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0;
    json_t *tuple = NULL;

    if (n >= 2) {
        text[0] = '(';
        text[n - 1] = ')';
        tuple = json_string(text);
    }
    free(text);
    json_decref(list);
    return tuple;
}

/* The value as XGBoost takes it, as a new reference. */
static json_t *value_translate(const struct gbdt_features *f, const char *name,
                               json_t *value, struct error *err)
{
    if (f && strcmp(name, "monotone_constraints") == 0 && json_is_object(value)) {
        json_t *list = monotone_list(f, value, err);

        return list ? monotone_text(list) : NULL;
    }
    if (strcmp(name, "monotone_constraints") == 0 && json_is_array(value))
        return monotone_text(json_incref(value));
    if (f && strcmp(name, "interaction_constraints") == 0 && json_is_array(value))
        return interaction_lists(f, value, err);
    return json_incref(value);
}

/* ---- The user's parameters ---- */

static int xgboost_value_set(struct booster *b, const char *name, json_t *value,
                             struct error *err)
{
    bool lists = strcmp(name, "eval_metric") == 0;
    size_t n = lists && json_is_array(value) ? json_array_size(value) : 1;
    json_t *theirs = value_translate(b->env.features, name, value, err);
    int rc = theirs ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *text = gbdt_param_text(theirs, lists, i);

        rc = text ? param_set(b, name, text, err) : error_no_memory(err);
        free(text);
    }
    json_decref(theirs);
    return rc;
}

/* ---- Samples ---- */

/* True for a share below 1, as a number or a text. */
static bool is_sampled(const json_t *value)
{
    double share = json_is_string(value) ? strtod(json_string_value(value), NULL)
                                         : json_number_value(value);

    return value && share < 1;
}

/* The user's tree method, if it draws samples and xgboost_params_renew() can renew
 * them. */
static const char *renewal_find(const json_t *params)
{
    static const char *const samples[] = {"subsample", "colsample_bytree",
                                          "colsample_bylevel", "colsample_bynode"};
    static const char *const methods[] = {"hist", "approx", "exact"};
    const char *method = json_string_value(json_object_get(params, "tree_method"));
    bool sampled = false;

    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        sampled = sampled || is_sampled(json_object_get(params, samples[i]));
    if (!sampled || has(params, "updater", NULL) ||
        strcmp(booster_kind(params), "gblinear") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(method ? method : "hist", methods[i]) == 0)
            return methods[i];
    return NULL;
}

int xgboost_params_check(struct booster *b, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    const char *text;
    uint64_t n;

    if (impl->x->XGBoosterSaveJsonConfig(impl->model, &n, &text) == 0)
        return 0;
    return xgboost_impl_fail(b, "params", err);
}

int xgboost_params_renew(struct booster *b, struct error *err)
{
    const struct xgboost_impl *impl = b->impl;
    const char *other;

    if (!impl->renewal)
        return 0;
    other = strcmp(impl->renewal, "hist") == 0 ? "approx" : "hist";
    if (param_set(b, "tree_method", other, err) < 0 || xgboost_params_check(b, err) < 0)
        return -1;
    return param_set(b, "tree_method", impl->renewal, err);
}

int xgboost_params_set(struct booster *b, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    json_t *params = b->env.config ? b->env.config->params : NULL;
    const char *name;
    json_t *value;

    impl->renewal = renewal_find(params);
    if (defaults_set(b, params, err) < 0)
        return -1;
    json_object_foreach(
        params, name, value) if (xgboost_value_set(b, name, value, err) < 0) return -1;
    return 0;
}
