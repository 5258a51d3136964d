/*
 * lightgbm_params.c - checks the user's parameters as far as raytrain depends on them,
 * and adds those that follow from the run.
 */
#include "lightgbm/lightgbm_params.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/quote.h"

#define NAMES_MAX 12

/* What happens to a parameter that raytrain sets or checks. */
enum rule {
    RULE_LEARNER,     /* serial is not possible with several workers */
    RULE_THREADS,     /* raytrain sets it from the resources of the worker */
    RULE_SEED,        /* raytrain sets it unless the user does */
    RULE_VERBOSITY,   /* the same */
    RULE_SAME,        /* the same; makes histograms equal each time */
    RULE_CATEGORICAL, /* the configuration's, if it has any */
    RULE_ROUNDS,      /* the loop is raytrain's */
    RULE_STOPPING,    /* the same */
    RULE_NETWORK,     /* the network is raytrain's */
    RULES
};

/* LightGBM's names for each. */
static const char *const names[RULES][NAMES_MAX] = {
    [RULE_LEARNER] = {"tree_learner", "tree", "tree_type", "tree_learner_type"},
    [RULE_THREADS] = {"num_threads", "num_thread", "nthread", "nthreads", "n_jobs"},
    [RULE_SEED] = {"seed", "random_seed", "random_state"},
    [RULE_VERBOSITY] = {"verbosity", "verbose"},
    [RULE_SAME] = {"deterministic", "force_col_wise", "force_row_wise"},
    [RULE_CATEGORICAL] = {"categorical_feature", "cat_feature", "categorical_column",
                          "cat_column", "categorical_features"},
    [RULE_ROUNDS] = {"num_iterations", "num_iteration", "n_iter", "num_tree",
                     "num_trees", "num_round", "num_rounds", "nrounds",
                     "num_boost_round", "n_estimators", "max_iter"},
    [RULE_STOPPING] = {"early_stopping_round", "early_stopping_rounds",
                       "early_stopping", "n_iter_no_change"},
    [RULE_NETWORK] = {"num_machines", "num_machine", "machines", "workers", "nodes",
                      "local_listen_port", "local_port", "port",
                      "machine_list_filename", "machine_list_file", "pre_partition",
                      "is_pre_partition"},
};

static enum rule rule_find(const char *key)
{
    for (int r = 0; r < RULES; r++)
        for (int i = 0; i < NAMES_MAX && names[r][i]; i++)
            if (strcmp(names[r][i], key) == 0)
                return (enum rule)r;
    return RULES;
}

/* The parameters as the library reads them: KEY=VALUE KEY=VALUE. */
struct param_text {
    const struct booster_env *env;
    FILE *out;
    bool several;      /* there are several members */
    bool given[RULES]; /* the user has set it, and it is used */
};

static void env_say(const struct booster_env *env, const char *line)
{
    if (env->say)
        env->say(env->arg, GBDT_WARNING, line);
}

/* ---- Values ---- */

/* A list is written with commas and without spaces, which would end the value:
 * "1,0,-1", or "[0,1],[2,3]". */
static char *value_text(const json_t *value)
{
    char *text = NULL, *part;
    size_t size = 0, kept = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; (part = gbdt_param_text(value, true, i)) != NULL; i++) {
        fprintf(out, "%s%s", i > 0 ? "," : "", part);
        free(part);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    for (size_t i = 0; text[i]; i++)
        if (!isspace((unsigned char)text[i]) || kept == 0 || text[kept - 1] != ',')
            text[kept++] = text[i];
    text[kept] = '\0';
    return text;
}

static int value_check(const char *key, const json_t *value, const char *text,
                       struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (json_is_object(value))
        return error_set(err, RAYTRAIN_EINVAL,
                         "params.%s: a parameter of LightGBM is a number, a word or a "
                         "list, not a group",
                         key);
    for (const char *p = text; *p; p++)
        if (isspace((unsigned char)*p))
            return error_set(err, RAYTRAIN_EINVAL,
                             "params.%s: %s has a space in it, which LightGBM does not "
                             "allow",
                             key, quote(text, quoted));
    return 0;
}

/* ---- Rules ---- */

static bool learner_is(const char *text, const char *name)
{
    size_t n = strlen(name);

    return strncasecmp(text, name, n) == 0 &&
           (text[n] == '\0' || strcasecmp(text + n, "_parallel") == 0);
}

/* A single member is serial, regardless of the parameter. */
static int learner_add(struct param_text *t, const char *text, struct error *err)
{
    char line[QUOTE_TEXT_MAX + 128], quoted[QUOTE_TEXT_MAX];

    t->given[RULE_LEARNER] = true;
    if (t->several && learner_is(text, "feature"))
        return error_set(err, RAYTRAIN_EINVAL,
                         "params.tree_learner: \"feature\" needs all rows on every "
                         "worker, and each worker has its own; take \"data\" or "
                         "\"voting\"");
    if (t->several && learner_is(text, "serial")) {
        snprintf(line, sizeof line,
                 "params.tree_learner is %s, and there are several workers: it is "
                 "\"data\" now",
                 quote(text, quoted));
        env_say(t->env, line);
        text = "data";
    }
    fprintf(t->out, "tree_learner=%s ", t->several ? text : "serial");
    return 0;
}

/* True: the user's value is not used. */
static bool is_dropped(struct param_text *t, enum rule rule, const char *key,
                       const char *text)
{
    const struct gbdt_features *f = t->env->features;
    const char *instead = NULL;
    char line[512];

    if (rule == RULE_THREADS && atoi(text) != t->env->threads)
        instead = "a worker has as many threads as cores";
    else if (rule == RULE_ROUNDS)
        instead = "set num_boost_round";
    else if (rule == RULE_STOPPING)
        instead = "set early_stopping_rounds";
    else if (rule == RULE_NETWORK)
        instead = "raytrain connects the workers";
    else if (rule == RULE_CATEGORICAL && f && f->categorical)
        instead = "categorical_features is set";
    if (instead) {
        snprintf(line, sizeof line, "params.%s is not used: %s", key, instead);
        env_say(t->env, line);
    }
    return instead || rule == RULE_THREADS;
}

static int param_add(struct param_text *t, const char *key, const json_t *value,
                     struct error *err)
{
    const enum rule rule = rule_find(key);
    char *text;
    int rc;

    if (json_is_null(value))
        return 0;
    text = value_text(value);
    if (!text)
        return error_no_memory(err);
    rc = value_check(key, value, text, err);
    if (rc == 0 && rule == RULE_LEARNER) {
        rc = learner_add(t, text, err);
    } else if (rc == 0 && (rule == RULES || !is_dropped(t, rule, key, text))) {
        if (rule != RULES)
            t->given[rule] = true;
        fprintf(t->out, "%s=%s ", key, text);
    }
    free(text);
    return rc;
}

static int params_add(struct param_text *t, const json_t *params, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)params, key, value)
    {
        if (param_add(t, key, value, err) < 0)
            return -1;
    }
    return 0;
}

/*
 * Add raytrain's parameters. At the start the library measures whether histograms by
 * columns or by rows are faster, and their sums differ in the last bits: the model of a
 * run would depend on the load of the machine. By columns, the sums do not depend on
 * the number of threads either.
 *
 * The model of a resumed run equals that of an uninterrupted one byte for byte, with
 * two exceptions: bagging, feature_fraction, extra_trees, goss and dart draw from
 * states of the library that it does not save, and linear trees are computed from
 * rounded ones.
 */
static void ours_add(struct param_text *t)
{
    const struct gbdt_features *f = t->env->features;
    const char *separator = "categorical_feature=";

    if (t->several && !t->given[RULE_LEARNER])
        fprintf(t->out, "tree_learner=data ");
    if (t->several)
        fprintf(t->out, "num_machines=%d ", t->env->comm->size);
    fprintf(t->out, "num_threads=%d ", t->env->threads > 0 ? t->env->threads : 1);
    if (!t->given[RULE_SEED])
        fprintf(t->out, "seed=%d ", (int)(t->env->seed % INT_MAX));
    if (!t->given[RULE_VERBOSITY])
        fprintf(t->out, "verbosity=0 ");
    if (!t->given[RULE_SAME])
        fprintf(t->out, "deterministic=true force_col_wise=true ");
    for (size_t i = 0; f && f->categorical && i < f->n; i++)
        if (f->categorical[i]) {
            fprintf(t->out, "%s%zu", separator, i);
            separator = ",";
        }
}

char *lightgbm_params_make(const struct booster_env *env, struct error *err)
{
    struct param_text t = {.env = env, .several = env->comm && env->comm->size > 1};
    char *text = NULL;
    size_t size;
    int rc = 0;

    t.out = open_memstream(&text, &size);
    if (t.out && env->config)
        rc = params_add(&t, env->config->params, err) < 0 ||
                     params_add(&t, env->config->dmatrix_params, err) < 0
                 ? -1
                 : 0;
    if (t.out && rc == 0)
        ours_add(&t);
    if (!t.out || fclose(t.out) != 0)
        rc = error_no_memory(err);
    if (rc < 0) {
        free(text);
        return NULL;
    }
    return text;
}

bool lightgbm_params_has(const struct booster_env *env, const char *const keys[],
                         const char *const values[])
{
    bool has = false;

    for (int k = 0; env->config && keys[k] && !has; k++) {
        const json_t *value = json_object_get(env->config->params, keys[k]);
        char *text = value ? value_text(value) : NULL;

        for (int v = 0; text && values[v] && !has; v++)
            has = strcasecmp(text, values[v]) == 0;
        free(text);
    }
    return has;
}

bool lightgbm_params_rank(const struct gbdt_config *cfg)
{
    static const char *const keys[] = {"objective",   "objective_type", "app",
                                       "application", "loss",           NULL};
    static const char *const values[] = {"lambdarank", "rank_xendcg",  "xendcg",
                                         "xe_ndcg",    "xe_ndcg_mart", "xendcg_mart",
                                         NULL};
    const struct booster_env env = {.config = cfg};

    return lightgbm_params_has(&env, keys, values);
}
