/*
 * lightgbm.c - LightGBM. See booster.h, and lightgbm_state.h for its other files.
 *
 * All members have the same trees. Each finds the bins by itself (lightgbm_sample.h);
 * then histograms are added over the communicator (lightgbm_network.h).
 */
#include <stdlib.h>
#include <string.h>

#include "lightgbm/lightgbm_network.h"
#include "lightgbm/lightgbm_params.h"
#include "lightgbm/lightgbm_state.h"

/* The number of different lines that are passed on; repeated ones are not. */
#define LINES_MAX      64
#define LINE_MAX_BYTES 1024

/* ---- What the library prints ---- */

/* The library calls back in the thread that has called it, three times for a line: with
 * "[LightGBM] [Warning] ", the message, and the end of the line. */
static _Thread_local struct {
    struct booster *booster; /* NULL: lines are dropped */
    char line[LINE_MAX_BYTES];
    char *said[LINES_MAX];
    size_t n;
} output;

static bool was_said(const char *line)
{
    for (size_t i = 0; i < output.n; i++)
        if (strcmp(output.said[i], line) == 0)
            return true;
    if (output.n < LINES_MAX && (output.said[output.n] = strdup(line)) != NULL)
        output.n++;
    return false;
}

static void line_say(void)
{
    static const char warning[] = "[LightGBM] [Warning] ";
    const struct booster *b = output.booster;

    if (b && b->env.say && output.line[0] && !was_said(output.line))
        b->env.say(b->env.arg,
                   strncmp(output.line, warning, strlen(warning)) == 0 ? GBDT_WARNING
                                                                       : GBDT_INFO,
                   output.line);
    output.line[0] = '\0';
}

static void lightgbm_output_take(const char *text)
{
    size_t n = strlen(output.line);

    for (; *text; text++) {
        if (*text == '\n') {
            line_say();
            n = 0;
        } else if (n + 1 < sizeof output.line) {
            output.line[n++] = *text;
            output.line[n] = '\0';
        }
    }
}

static void output_stop(const struct lightgbm *l)
{
    l->RegisterLogCallback(NULL);
    for (size_t i = 0; i < output.n; i++)
        free(output.said[i]);
    memset(&output, 0, sizeof output);
}

/* ---- Life ---- */

static int open_library(struct error *err)
{
    return lightgbm_library(err) ? 0 : -1;
}

/* The trees of a forest do not depend on earlier ones, and it does not accept initial
 * scores. */
static bool is_forest(const struct booster *b)
{
    static const char *const keys[] = {"boosting", "boosting_type", "boost", NULL};
    static const char *const values[] = {"rf", "random_forest", NULL};

    return lightgbm_params_has(&b->env, keys, values);
}

static int old_open(struct booster *b, struct error *err)
{
    struct lightgbm_state *s = b->impl;

    if (!b->env.model)
        return 0;
    if (is_forest(b))
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "LightGBM cannot continue a random forest (boosting = "
                         "\"rf\"): start again in another directory, or without "
                         "restarts");
    return lightgbm_model_parse(s->l, b->env.model, b->env.model_size, &s->old, err);
}

static int lightgbm_create(struct booster *b, struct error *err)
{
    struct lightgbm_state *s = calloc(1, sizeof *s);
    int rc;

    b->impl = s;
    if (!s)
        return error_no_memory(err);
    s->l = lightgbm_library(err);
    if (!s->l)
        return -1;
    output.booster = b;
    s->l->RegisterLogCallback(lightgbm_output_take);
    if (!b->env.comm)
        return 0;
    if (b->env.comm->size > 1)
        s->comm = b->env.comm;
    s->params = lightgbm_params_make(&b->env, err);
    rc = s->params ? old_open(b, err) : -1;
    return s->comm ? comm_agree(s->comm, rc, err) : rc;
}

static void lightgbm_destroy(struct booster *b, bool clean)
{
    struct lightgbm_state *s = b->impl;

    (void)clean;
    if (!s)
        return;
    if (s->l) {
        if (s->booster)
            s->l->BoosterFree(s->booster);
        if (s->old)
            s->l->BoosterFree(s->old);
        for (size_t i = s->sets.n; i-- > 0;)
            if (s->sets.list[i].data)
                s->l->DatasetFree(s->sets.list[i].data);
        lightgbm_network_stop(s->l);
        output_stop(s->l);
    }
    free(s->sets.list);
    free(s->params);
    free(s->text);
    free(s->objective);
    free(s);
    b->impl = NULL;
}

/* ---- Training ---- */

/* If the objective refuses the labels of some members, the others would wait for them
 * in the library. So try it before the network starts. */
static int labels_check(struct booster *b, struct error *err)
{
    struct lightgbm_state *s = b->impl;
    const size_t size = strlen(s->params) + 64;
    char *params = malloc(size);
    lightgbm_booster trial = NULL;
    int rc = 0;

    if (!params)
        return error_no_memory(err);
    /* The first value of a parameter counts. */
    snprintf(params, size, "num_machines=1 tree_learner=serial verbosity=-1 %s",
             s->params);
    output.booster = NULL;
    if (s->l->BoosterCreate(s->sets.list[0].data, params, &trial) != 0)
        rc = lightgbm_fail(s->l, RAYTRAIN_EINVAL, "refuses the dataset or params", err);
    else
        s->l->BoosterFree(trial);
    output.booster = b;
    free(params);
    return rc;
}

/* With some parameters (linear_tree) the library warns, and trains on each member
 * alone: the model would only know the rows of rank 0. The text of a model has the
 * parameters that are in use. */
static int learner_check(struct booster *b, struct error *err)
{
    void *text;
    size_t n;
    int rc = 0;

    if (lightgbm_save(b, 0, -1, 0, &text, &n, err) < 0)
        return -1;
    if (strstr(text, "\n[tree_learner: serial]\n"))
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "LightGBM takes these params (linear_tree?) on one worker only: "
                       "leave them out, or use one worker");
    free(text);
    return rc;
}

static int booster_make(struct booster *b, struct error *err)
{
    struct lightgbm_state *s = b->impl;

    if (s->l->BoosterCreate(s->sets.list[0].data, s->params, &s->booster) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EINVAL, "refuses the dataset or params",
                             err);
    if (lightgbm_network_check(err) < 0 || (s->comm && learner_check(b, err) < 0))
        return -1;
    if (s->old && s->l->BoosterMerge(s->booster, s->old) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EINVAL, "cannot continue the old model",
                             err);
    for (size_t i = 1; i < s->sets.n; i++)
        if (s->sets.list[i].data &&
            s->l->BoosterAddValidData(s->booster, s->sets.list[i].data) != 0)
            return lightgbm_fail(s->l, RAYTRAIN_EINVAL, s->sets.list[i].name, err);
    return 0;
}

static int lightgbm_begin(struct booster *b, const void *bytes, size_t n,
                          struct error *err)
{
    struct lightgbm_state *s = b->impl;
    int rc = 0;

    (void)n;
    if (bytes && !s->old)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "LightGBM needs the model to continue before its datasets");
    if (s->comm) {
        if (rc == 0)
            rc = labels_check(b, err);
        if (comm_agree(s->comm, rc, err) < 0 ||
            lightgbm_network_start(s->l, s->comm, err) < 0)
            return -1;
    }
    if (rc == 0)
        rc = booster_make(b, err);
    return s->comm ? comm_agree(s->comm, rc, err) : rc;
}

/* If the library finds no split for any tree it has finished: its own program stops
 * too. */
static int update(struct booster *b, int round, bool *full, struct error *err)
{
    struct lightgbm_state *s = b->impl;
    int finished = 0, rc;

    (void)round;
    rc = s->l->BoosterUpdateOneIter(s->booster, &finished);
    if (lightgbm_network_check(err) < 0)
        return -1;
    if (rc != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "cannot train", err);
    *full = finished != 0;
    return 0;
}

static int evaluate(struct booster *b, int round, struct gbdt_scores *scores,
                    struct error *err)
{
    struct lightgbm_state *s = b->impl;

    (void)round;
    return lightgbm_metrics_get(s->l, s->booster, &s->sets, &b->env, scores, err);
}

static int importance(struct booster *b, int rounds, struct gbdt_importance *out,
                      struct error *err)
{
    struct lightgbm_state *s = b->impl;
    int n = rounds > 0 ? rounds : -1;

    if (s->l->BoosterFeatureImportance(s->booster, n, LIGHTGBM_GAIN, out->gain) != 0 ||
        s->l->BoosterFeatureImportance(s->booster, n, LIGHTGBM_SPLITS, out->splits) !=
            0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "has no importances", err);
    return 0;
}

static int rounds(struct booster *b, struct error *err)
{
    struct lightgbm_state *s = b->impl;

    return lightgbm_model_rounds(s->l, s->booster, err);
}

extern const struct booster_ops booster_lightgbm;
const struct booster_ops booster_lightgbm = {
    .name = "lightgbm",
    .file = "model.txt",
    .wide = true,
    .open = open_library,
    .ranks = lightgbm_params_rank,
    .create = lightgbm_create,
    .add = lightgbm_data_add,
    .begin = lightgbm_begin,
    .update = update,
    .evaluate = evaluate,
    .save = lightgbm_save,
    .importance = importance,
    .rounds = rounds,
    .load = lightgbm_load,
    .shape = lightgbm_shape,
    .predict = lightgbm_predict,
    .convert = lightgbm_convert,
    .destroy = lightgbm_destroy,
};
