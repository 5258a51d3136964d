/* lightgbm_model.c - saves and loads models, and predicts. See lightgbm_state.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lightgbm/lightgbm_state.h"

/* Rows that are predicted at once: their outputs are in float64 at first. */
#define BLOCK_ROWS 4096

/* ---- Models ---- */

int lightgbm_model_parse(const struct lightgbm *l, const void *bytes, size_t n,
                         lightgbm_booster *out, struct error *err)
{
    char *text = malloc(n + 1);
    int rounds, rc;

    *out = NULL;
    if (!text)
        return error_no_memory(err);
    memcpy(text, bytes, n);
    text[n] = '\0';
    rc = l->BoosterLoadModelFromString(text, &rounds, out);
    free(text);
    return rc == 0 ? 0
                   : lightgbm_fail(l, RAYTRAIN_ECORRUPT,
                                   "cannot read the model in the checkpoint", err);
}

int lightgbm_model_rounds(const struct lightgbm *l, lightgbm_booster booster,
                          struct error *err)
{
    int trees, per_round;

    if (l->BoosterNumberOfTotalModel(booster, &trees) != 0 ||
        l->BoosterNumModelPerIteration(booster, &per_round) != 0)
        return lightgbm_fail(l, RAYTRAIN_EFAILED, "has no trees", err);
    return per_round > 0 ? trees / per_round : 0;
}

/* The library's text of a model, from a function that also tells its length. */
static int text_make(const struct lightgbm *l, lightgbm_booster booster, bool json,
                     int rounds, void **bytes, size_t *n, struct error *err)
{
    int64_t size = 0, needed = 1 << 16;
    char *text = NULL;
    int rc = 0;

    while (rc == 0 && needed > size) {
        char *grown = realloc(text, (size_t)needed);

        if (!grown) {
            free(text);
            return error_no_memory(err);
        }
        text = grown;
        size = needed;
        rc = json ? l->BoosterDumpModel(booster, 0, rounds, LIGHTGBM_SPLITS, size,
                                        &needed, text)
                  : l->BoosterSaveModelToString(booster, 0, rounds, LIGHTGBM_SPLITS,
                                                size, &needed, text);
    }
    if (rc != 0) {
        free(text);
        return lightgbm_fail(l, RAYTRAIN_EFAILED, "cannot save the model", err);
    }
    *bytes = text;
    *n = (size_t)needed - 1;
    return 0;
}

/* The importances in the text are numbers of splits, not gains: these have only six
 * digits there, so their sums would change when the text is read. The text has no place
 * for best_round. */
int lightgbm_save(struct booster *b, int rounds, int best_round, double best_score,
                  void **bytes, size_t *n, struct error *err)
{
    const struct lightgbm_state *s = b->impl;

    (void)best_round, (void)best_score;
    return text_make(s->l, s->booster, false, rounds > 0 ? rounds : -1, bytes, n, err);
}

/* ---- Loading ---- */

/* What follows "objective=" on its line; an empty text if the model has no
 * objective. */
static char *objective_find(const char *text)
{
    const char *line = strstr(text, "\nobjective=");
    const char *from = line ? line + strlen("\nobjective=") : "";

    return strndup(from, strcspn(from, "\r\n"));
}

int lightgbm_load(struct booster *b, const void *bytes, size_t n, struct error *err)
{
    struct lightgbm_state *s = b->impl;

    s->text = malloc(n + 1);
    if (!s->text)
        return error_no_memory(err);
    memcpy(s->text, bytes, n);
    s->text[n] = '\0';
    s->text_size = n;
    s->objective = objective_find(s->text);
    if (!s->objective)
        return error_no_memory(err);
    return lightgbm_model_parse(s->l, bytes, n, &s->booster, err);
}

/* ---- Predictions ---- */

int lightgbm_rows_predict(const struct lightgbm *l, const struct lightgbm_request *r,
                          const struct gbdt_rows *rows, uint64_t first, uint64_t n,
                          double *out, struct error *err)
{
    const bool narrow = rows->dtype == RAYTRAIN_FLOAT32;
    const int type = narrow ? LIGHTGBM_FLOAT32 : LIGHTGBM_FLOAT64;
    const size_t element = narrow ? sizeof(float) : sizeof(double);
    char params[64];
    int64_t got;
    int rc;

    snprintf(params, sizeof params, "num_threads=%d verbosity=0",
             r->threads > 0 ? r->threads : 1);
    if (rows->sparse)
        rc = l->BoosterPredictForCSR(r->booster, rows->offsets + first, LIGHTGBM_INT64,
                                     (const int32_t *)rows->indices, rows->values, type,
                                     (int64_t)n + 1, (int64_t)rows->n_values,
                                     (int64_t)rows->features, r->output, r->first_round,
                                     r->rounds, params, &got, out);
    else
        rc = l->BoosterPredictForMat(
            r->booster, (const char *)rows->values + first * rows->features * element,
            type, (int32_t)n, (int32_t)rows->features, 1, r->output, r->first_round,
            r->rounds, params, &got, out);
    return rc == 0 ? 0 : lightgbm_fail(l, RAYTRAIN_EINVAL, "cannot predict", err);
}

/* Objectives whose values are probabilities. */
static bool is_probability(const struct lightgbm_state *s, int classes)
{
    static const char *const names[] = {"binary", "cross_entropy", "multiclass",
                                        "multiclassova"};
    size_t length = strcspn(s->objective, " ");

    (void)classes;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && strncmp(s->objective, names[i], length) == 0)
            return true;
    return false;
}

static int library_output(enum gbdt_output output)
{
    switch (output) {
    case GBDT_MARGIN:
        return LIGHTGBM_RAW;
    case GBDT_LEAF:
        return LIGHTGBM_LEAF;
    case GBDT_CONTRIBUTION:
        return LIGHTGBM_CONTRIB;
    default:
        return LIGHTGBM_NORMAL;
    }
}

int lightgbm_shape(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                   int *ndim, struct error *err)
{
    const struct lightgbm_state *s = b->impl;
    int classes, features, trees;

    if (s->l->BoosterGetNumClasses(s->booster, &classes) != 0 ||
        s->l->BoosterGetNumFeature(s->booster, &features) != 0 ||
        s->l->BoosterNumberOfTotalModel(s->booster, &trees) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "has no such model", err);
    if ((output == GBDT_PROBABILITY || output == GBDT_CLASS) &&
        !is_probability(s, classes))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the model has no classes: its objective is \"%s\"",
                         s->objective);
    *ndim = 0;
    if (output == GBDT_LEAF)
        shape[(*ndim)++] = (uint64_t)trees;
    else if (classes > 1 && output != GBDT_CLASS)
        shape[(*ndim)++] = (uint64_t)classes;
    if (output == GBDT_CONTRIBUTION)
        shape[(*ndim)++] = (uint64_t)features + 1;
    return 0;
}

static int lightgbm_features_check(const struct lightgbm_state *s,
                                   const struct gbdt_rows *rows, struct error *err)
{
    int features;

    if (s->l->BoosterGetNumFeature(s->booster, &features) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "has no such model", err);
    if (rows->features != (uint64_t)features)
        return error_set(err, RAYTRAIN_EINVAL,
                         "the rows have %llu features, and the model was trained on %d",
                         (unsigned long long)rows->features, features);
    return 0;
}

/* The class with the greatest probability, the first of equal ones; for two classes, 1
 * if its probability is above one half. */
static int32_t class_of(const double *probabilities, size_t n)
{
    size_t best = 0;

    if (n == 1)
        return probabilities[0] > 0.5;
    for (size_t k = 1; k < n; k++)
        if (probabilities[k] > probabilities[best])
            best = k;
    return (int32_t)best;
}

/* Convert the library's numbers, `width` per row, to the type of the output. */
static void block_store(enum gbdt_output output, const double *from, uint64_t rows,
                        size_t width, uint64_t first, void *values)
{
    if (output == GBDT_CLASS) {
        for (uint64_t i = 0; i < rows; i++)
            ((int32_t *)values)[first + i] = class_of(from + i * width, width);
        return;
    }
    for (uint64_t i = 0; i < rows * width; i++) {
        if (output == GBDT_LEAF)
            ((int32_t *)values)[first * width + i] = (int32_t)from[i];
        else
            ((float *)values)[first * width + i] = (float)from[i];
    }
}

int lightgbm_predict(struct booster *b, enum gbdt_output output,
                     const struct gbdt_rows *rows, void *values, struct error *err)
{
    const struct lightgbm_state *s = b->impl;
    const struct lightgbm_request request = {s->booster, library_output(output), 0, -1,
                                             b->env.threads};
    int64_t width = 0;
    double *block;
    int rc = 0;

    if (lightgbm_features_check(s, rows, err) < 0)
        return -1;
    if (s->l->BoosterCalcNumPredict(s->booster, 1, request.output, 0, -1, &width) != 0)
        return lightgbm_fail(s->l, RAYTRAIN_EFAILED, "has no such output", err);
    block = malloc((size_t)BLOCK_ROWS * (size_t)width * sizeof *block + 1);
    if (!block)
        return error_no_memory(err);
    for (uint64_t i = 0; rc == 0 && i < rows->n; i += BLOCK_ROWS) {
        uint64_t n = rows->n - i < BLOCK_ROWS ? rows->n - i : BLOCK_ROWS;

        rc = lightgbm_rows_predict(s->l, &request, rows, i, n, block, err);
        if (rc == 0)
            block_store(output, block, n, (size_t)width, i, values);
    }
    free(block);
    return rc;
}

/* ---- Other formats ---- */

int lightgbm_convert(struct booster *b, const char *format, void **bytes, size_t *n,
                     struct error *err)
{
    const struct lightgbm_state *s = b->impl;

    if (strcmp(format, "json") == 0)
        return text_make(s->l, s->booster, true, -1, bytes, n, err);
    if (strcmp(format, "txt") != 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "LightGBM has no format \"%s\": the formats are txt and json",
                         format);
    *bytes = malloc(s->text_size + 1);
    if (!*bytes)
        return error_no_memory(err);
    memcpy(*bytes, s->text, s->text_size + 1);
    *n = s->text_size;
    return 0;
}
