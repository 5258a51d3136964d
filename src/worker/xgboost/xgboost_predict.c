/* xgboost_predict.c - models of XGBoost in one process; see booster.h. */
#include "config.h"

#include "xgboost/xgboost_predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"
#include "xgboost/xgboost_booster.h"

/* ---- The model ---- */

int xgboost_bytes(const struct xgboost_library *x, void *model, const char *format,
                  void **bytes, size_t *n, struct error *err)
{
    char config[40];
    const char *theirs;
    uint64_t length;

    *bytes = NULL;
    snprintf(config, sizeof config, "{\"format\":\"%s\"}", format);
    if (x->XGBoosterSaveModelToBuffer(model, config, &length, &theirs) != 0)
        return xgboost_fail(x, RAYTRAIN_EFAILED, "the model as bytes", err);
    *bytes = malloc(length + 1);
    if (!*bytes)
        return error_no_memory(err);
    memcpy(*bytes, theirs, length);
    *n = length;
    return 0;
}

int xgboost_convert(struct booster *b, const char *format, void **bytes, size_t *n,
                    struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    char quoted[QUOTE_TEXT_MAX];

    if (strcmp(format, "json") != 0 && strcmp(format, "ubj") != 0)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "a model of XGBoost cannot be written as %s; the formats are json "
            "and ubj",
            quote(format, quoted));
    return xgboost_bytes(impl->x, impl->model, format, bytes, n, err);
}

static int objective_find(struct booster *b, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    const char *text, *name;
    json_t *config;
    uint64_t n;

    if (impl->x->XGBoosterSaveJsonConfig(impl->model, &n, &text) != 0)
        return xgboost_fail(impl->x, RAYTRAIN_ECORRUPT, "the model's configuration",
                            err);
    config = json_loadb(text, n, 0, NULL);
    if (json_unpack(config, "{s:{s:{s:s}}}", "learner", "objective", "name", &name) < 0)
        name = "";
    snprintf(impl->objective, sizeof impl->objective, "%s", name);
    json_decref(config);
    return 0;
}

/* If the model has a best round, from early stopping, do not use the rounds after
 * it. */
static int model_end_find(struct booster *b, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    const char *text = NULL;
    int has = 0, rounds = 0;
    long best;

    if (impl->x->XGBoosterGetAttr(impl->model, "best_iteration", &text, &has) != 0 ||
        impl->x->XGBoosterBoostedRounds(impl->model, &rounds) != 0)
        return xgboost_fail(impl->x, RAYTRAIN_ECORRUPT, "the model's attributes", err);
    best = has ? strtol(text, NULL, 10) : -1;
    impl->end = best >= 0 && best + 1 < rounds ? (int)best + 1 : 0;
    return 0;
}

int xgboost_load(struct booster *b, const void *bytes, size_t n, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    char threads[16];

    if (!impl && xgboost_impl_make(b, err) < 0)
        return -1;
    impl = b->impl;
    snprintf(threads, sizeof threads, "%d", b->env.threads);
    if (impl->x->XGBoosterCreate(NULL, 0, &impl->model) != 0 ||
        impl->x->XGBoosterLoadModelFromBuffer(impl->model, bytes, n) != 0 ||
        impl->x->XGBoosterSetParam(impl->model, "nthread", threads) != 0 ||
        impl->x->XGBoosterGetNumFeature(impl->model, &impl->features) != 0)
        return xgboost_fail(impl->x, RAYTRAIN_ECORRUPT, "the model", err);
    return objective_find(b, err) < 0 ? -1 : model_end_find(b, err);
}

/* ---- Predictions by the library ---- */

/* The library's numbers for the kinds of predictions. */
enum { KIND_VALUE = 0, KIND_MARGIN = 1, KIND_CONTRIBUTION = 2, KIND_LEAF = 6 };

static bool is_multi(const struct xgboost_impl *impl)
{
    return strncmp(impl->objective, "multi:", 6) == 0;
}

/* True if the library predicts the probability of each class. */
static bool is_softprob(const struct xgboost_impl *impl)
{
    return strcmp(impl->objective, "multi:softprob") == 0;
}

/* The kind to request: margins if probabilities must be computed from them. */
static int xgboost_output_kind(const struct xgboost_impl *impl, enum gbdt_output output)
{
    switch (output) {
    case GBDT_MARGIN:
        return KIND_MARGIN;
    case GBDT_LEAF:
        return KIND_LEAF;
    case GBDT_CONTRIBUTION:
        return KIND_CONTRIBUTION;
    case GBDT_PROBABILITY:
    case GBDT_CLASS:
        return (is_multi(impl) && !is_softprob(impl)) ||
                       strcmp(impl->objective, "binary:logitraw") == 0
                   ? KIND_MARGIN
                   : KIND_VALUE;
    default:
        return KIND_VALUE;
    }
}

struct raw {
    const float *values;
    const uint64_t *shape;
    uint64_t ndim;
};

static int raw_predict(struct xgboost_impl *impl, enum gbdt_output output, void *matrix,
                       struct raw *raw, struct error *err)
{
    char config[160];

    snprintf(config, sizeof config,
             "{\"type\":%d,\"training\":false,\"iteration_begin\":0,"
             "\"iteration_end\":%d,\"strict_shape\":true}",
             xgboost_output_kind(impl, output), impl->end);
    if (impl->x->XGBoosterPredictFromDMatrix(impl->model, matrix, config, &raw->shape,
                                             &raw->ndim, &raw->values) != 0)
        return xgboost_fail(impl->x, RAYTRAIN_EINVAL, "the prediction", err);
    return 0;
}

/* ---- Shapes ---- */

static int output_check(const struct xgboost_impl *impl, enum gbdt_output output,
                        struct error *err)
{
    bool classes = is_multi(impl) || strncmp(impl->objective, "binary:", 7) == 0;
    bool hinge = strcmp(impl->objective, "binary:hinge") == 0;

    if ((output == GBDT_CLASS && !classes) ||
        (output == GBDT_PROBABILITY && (!classes || hinge)))
        return error_set(err, RAYTRAIN_EINVAL, "a model of the objective %s has no %s",
                         impl->objective,
                         output == GBDT_CLASS ? "classes" : "probabilities");
    return 0;
}

/* The library gives rows x groups; for contributions, rows x groups x numbers; for
 * leaves, rows x rounds x groups x trees. */
static void shape_take(const struct raw *raw, enum gbdt_output output, bool multi,
                       struct xgboost_shape *out)
{
    uint64_t each = 1;

    for (uint64_t i = 1; i < raw->ndim; i++)
        each *= raw->shape[i];
    *out = (struct xgboost_shape){.known = true, .n = each, .shape = {each}};
    if (output == GBDT_CONTRIBUTION && raw->ndim == 3 && raw->shape[1] > 1) {
        out->ndim = 2;
        out->shape[0] = raw->shape[1];
        out->shape[1] = raw->shape[2];
    } else if (output == GBDT_CONTRIBUTION || output == GBDT_LEAF) {
        out->ndim = 1;
    } else {
        out->ndim = each > 1 && !(output == GBDT_CLASS && multi);
    }
}

static int shape_find(struct booster *b, enum gbdt_output output, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    uint64_t offsets[2] = {0, 0};
    struct gbdt_rows row = {.n = 1,
                            .all = 1,
                            .sparse = true,
                            .dtype = RAYTRAIN_FLOAT32,
                            .features = impl->features,
                            .offsets = offsets};
    void *matrix;
    struct raw raw;
    int rc;

    if (output_check(impl, output, err) < 0)
        return -1;
    if (impl->shapes[output].known)
        return 0;
    if (xgboost_matrix_make(impl->x, &impl->options, &row, impl->features, &matrix,
                            err) < 0)
        return -1;
    rc = raw_predict(impl, output, matrix, &raw, err);
    if (rc == 0)
        shape_take(&raw, output, is_multi(impl), &impl->shapes[output]);
    (void)impl->x->XGDMatrixFree(matrix);
    return rc;
}

int xgboost_shape(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                  int *ndim, struct error *err)
{
    const struct xgboost_impl *impl = b->impl;

    if (shape_find(b, output, err) < 0)
        return -1;
    memcpy(shape, impl->shapes[output].shape, sizeof impl->shapes[output].shape);
    *ndim = impl->shapes[output].ndim;
    return 0;
}

/* ---- Values ---- */

static void softmax(const float *margins, uint64_t n, float *out)
{
    double sum = 0;
    float most = margins[0];

    for (uint64_t i = 1; i < n; i++)
        most = margins[i] > most ? margins[i] : most;
    for (uint64_t i = 0; i < n; i++)
        sum += exp((double)margins[i] - (double)most);
    for (uint64_t i = 0; i < n; i++)
        out[i] = (float)(exp((double)margins[i] - (double)most) / sum);
}

static int32_t most_of(const float *v, uint64_t n)
{
    uint64_t best = 0;

    for (uint64_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return (int32_t)best;
}

/* Compute n numbers for each row from those of the library. */
static void values_make(const struct xgboost_impl *impl, enum gbdt_output output,
                        const float *from, uint64_t rows, uint64_t n, void *values)
{
    bool raw = strcmp(impl->objective, "binary:logitraw") == 0;
    float *floats = values;
    int32_t *ints = values;

    if (output == GBDT_CLASS && is_multi(impl)) {
        for (uint64_t r = 0; r < rows; r++)
            ints[r] = most_of(from + r * n, n);
    } else if (output == GBDT_CLASS) {
        for (uint64_t i = 0; i < rows * n; i++)
            ints[i] = from[i] > (raw ? 0.0f : 0.5f);
    } else if (output == GBDT_LEAF) {
        for (uint64_t i = 0; i < rows * n; i++)
            ints[i] = (int32_t)from[i];
    } else if (output == GBDT_PROBABILITY && is_multi(impl) && !is_softprob(impl)) {
        for (uint64_t r = 0; r < rows; r++)
            softmax(from + r * n, n, floats + r * n);
    } else if (output == GBDT_PROBABILITY && raw) {
        for (uint64_t i = 0; i < rows * n; i++)
            floats[i] = 1.0f / (1.0f + expf(-from[i]));
    } else {
        memcpy(values, from, rows * n * sizeof *floats);
    }
}

/* Sparse rows may have fewer features than the model. */
static int xgboost_features_check(const struct xgboost_impl *impl,
                                  const struct gbdt_rows *rows, struct error *err)
{
    if (rows->features == impl->features ||
        (rows->sparse && rows->features < impl->features))
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "the rows have %llu features, but the model has been trained on "
                     "%llu",
                     (unsigned long long)rows->features,
                     (unsigned long long)impl->features);
}

int xgboost_predict(struct booster *b, enum gbdt_output output,
                    const struct gbdt_rows *rows, void *values, struct error *err)
{
    struct xgboost_impl *impl = b->impl;
    uint64_t n;
    struct raw raw;
    void *matrix;
    int rc;

    if (xgboost_features_check(impl, rows, err) < 0 || shape_find(b, output, err) < 0)
        return -1;
    if (rows->n == 0)
        return 0;
    n = impl->shapes[output].n;
    if (xgboost_matrix_make(impl->x, &impl->options, rows, impl->features, &matrix,
                            err) < 0)
        return -1;
    rc = xgboost_matrix_describe_rows(impl->x, matrix, rows, err);
    rc = rc < 0 ? rc : raw_predict(impl, output, matrix, &raw, err);
    if (rc == 0)
        values_make(impl, output, raw.values, rows->n, n, values);
    (void)impl->x->XGDMatrixFree(matrix);
    return rc;
}
