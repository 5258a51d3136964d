/*
 * gbdt_predict.c - see gbdt_predict.h. In order: the model of the checkpoint, its
 * features, its outputs, batches.
 */
#include "gbdt/gbdt_predict.h"

#include <stdlib.h>
#include <string.h>

#include "config/registry.h"
#include "data/dataset.h"
#include "gbdt/booster.h"
#include "gbdt/feature_rows.h"
#include "rank/event.h"
#include "session/session.h"
#include "session/signs.h"

/* The numbers in a batch, approximately, and the limits of its rows. */
#define BATCH_NUMBERS (1u << 22)
#define BATCH_MIN     64
#define BATCH_MAX     4096

/* In the order of enum gbdt_output. */
static const char *const output_names[] = {TREE_OUTPUTS(REGISTRY_WORD)};

_Static_assert(sizeof output_names / sizeof output_names[0] == GBDT_OUTPUTS,
               "an output without a name");

struct prediction {
    raytrain_context *ctx;
    raytrain_predictor *predictor;
    raytrain_checkpoint *checkpoint;
    struct booster booster;
    struct gbdt_config config; /* for the library, as in the training */
    json_t *dmatrix;           /* of `config`; NULL: the checkpoint has none */
    char **names;              /* of the model's features; NULL: they have no names */
    uint64_t n_features;
    struct feature_rows *rows;
    struct {
        enum gbdt_output kind;
        const char *column;
        uint64_t numbers; /* for each row */
    } outputs[GBDT_OUTPUTS];
    size_t n_outputs;
    void *values; /* of one output, for a batch */
    uint64_t batch;
};

/* Return the error that a call of raytrain.h has set in the context. */
static int call_failed(const struct prediction *g, struct error *err)
{
    if (err != session_error(g->ctx))
        *err = *session_error(g->ctx);
    return -1;
}

/* ---- The model ---- */

static void prediction_library_says(void *arg, enum gbdt_severity severity,
                                    const char *line)
{
    const struct prediction *g = arg;

    if (severity == GBDT_WARNING && g->ctx->comm->rank == 0)
        event_add(g->ctx->env.log_dir, EVENT_WARNING, "%s: %s", g->booster.ops->name,
                  line);
}

static void prediction_library_goes_on(void *arg)
{
    const struct prediction *g = arg;

    sign_of_progress(g->ctx);
}

/* Open the library that the checkpoint names: "xgboost". */
static int prediction_library_open(struct prediction *g, struct error *err)
{
    char *trainer = NULL;
    int rc = 0;

    g->checkpoint = raytrain_get_checkpoint(g->ctx);
    if (!g->checkpoint)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "there is no checkpoint to predict with: give --checkpoint");
    if (raytrain_checkpoint_get_string(g->checkpoint, GBDT_TRAINER, &trainer))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the checkpoint is not from the trainers xgboost and "
                         "lightgbm; name the predict function of its model");
    g->booster.ops = booster_find(trainer);
    if (!g->booster.ops)
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "the model is from the trainer \"%s\", which this version does "
                       "not know",
                       trainer);
    free(trainer);
    return rc < 0 ? -1 : g->booster.ops->open(err);
}

/* Load the "dmatrix" of the training: missing values, for example, mean the same. */
static int dmatrix_load(struct prediction *g, struct error *err)
{
    char *text;

    g->config = g->ctx->env.config->gbdt;
    if (raytrain_checkpoint_get_string(g->checkpoint, GBDT_DMATRIX, &text))
        return 0;
    g->dmatrix = json_loads(text, 0, NULL);
    free(text);
    g->config.dmatrix_params = g->dmatrix;
    return json_is_object(g->dmatrix) ? 0
                                      : error_set(err, RAYTRAIN_ECORRUPT,
                                                  "the checkpoint's " GBDT_DMATRIX
                                                  " are not a group of parameters");
}

static int model_load(struct prediction *g, struct error *err)
{
    const struct train_config *cfg = g->ctx->env.config;
    struct booster *b = &g->booster;
    void *bytes = NULL;
    size_t n = 0;
    int rc;

    if (prediction_library_open(g, err) < 0 || dmatrix_load(g, err) < 0)
        return -1;
    b->env = (struct booster_env){.threads = cfg->scaling_config.cpus_per_worker,
                                  .config = &g->config,
                                  .say = prediction_library_says,
                                  .goes_on = prediction_library_goes_on,
                                  .arg = g};
    if (raytrain_checkpoint_get_bytes(g->checkpoint, b->ops->file, &bytes, &n))
        return call_failed(g, err);
    rc = b->ops->create(b, err);
    if (rc == 0)
        rc = b->ops->load(b, bytes, n, err);
    free(bytes);
    return rc;
}

/* ---- Its features ---- */

static int names_take(struct prediction *g, const char *text, struct error *err)
{
    json_t *list = json_loads(text, 0, NULL), *name;
    bool bad = !json_is_array(list);
    size_t i;

    g->n_features = json_array_size(list);
    g->names = calloc(g->n_features + 1, sizeof *g->names);
    json_array_foreach(list, i, name)
    {
        if (g->names && json_is_string(name))
            g->names[i] = strdup(json_string_value(name));
        bad = bad || !g->names || !g->names[i];
    }
    json_decref(list);
    return bad ? error_set(err, RAYTRAIN_ECORRUPT,
                           "the checkpoint's " GBDT_FEATURES
                           " is not a list of the names of features")
               : 0;
}

/* If the features of a model have no names, the importances give their number. */
static int features_load(struct prediction *g, struct error *err)
{
    raytrain_tensor gain;
    char *text;
    int rc;

    if (raytrain_checkpoint_get_string(g->checkpoint, GBDT_FEATURES, &text)) {
        if (raytrain_checkpoint_info(g->checkpoint, GBDT_GAIN, &gain) == RAYTRAIN_OK &&
            gain.ndim == 1)
            g->n_features = gain.shape[0];
        return 0;
    }
    rc = names_take(g, text, err);
    free(text);
    return rc;
}

static int rows_prepare(struct prediction *g, struct error *err)
{
    const char *label = g->ctx->env.config->gbdt.label;
    struct feature_list list = {.names = (const char *const *)g->names,
                                .n = g->n_features,
                                .label = label ? label : GBDT_LABEL};
    const raytrain_dataset *input = raytrain_predictor_dataset(g->predictor);

    if (!g->ctx->env.config->predict.service) {
        list.ds = input;
        list.config = &g->ctx->input;
    }
    return feature_rows_create(
        dataset_schema(input), &list,
        g->booster.ops->wide ? RAYTRAIN_FLOAT64 : RAYTRAIN_FLOAT32, &g->rows, err);
}

/* True for the label, and for columns that the output has too. */
static bool is_expected(const struct prediction *g, const char *column)
{
    const struct train_config *cfg = g->ctx->env.config;

    for (size_t i = 0; i < cfg->predict.n_columns; i++)
        if (strcmp(cfg->predict.columns[i], column) == 0)
            return true;
    return strcmp(column, cfg->gbdt.label ? cfg->gbdt.label : GBDT_LABEL) == 0;
}

/* Name columns of files that the model does not use. Those of a service are not
 * named: the client chose them. */
static int prediction_unused_note(const struct prediction *g, struct error *err)
{
    const struct frame *schema =
        dataset_schema(raytrain_predictor_dataset(g->predictor));
    bool *unused, any = false;
    char text[ERROR_TEXT_MAX / 2];

    if (g->ctx->comm->rank != 0 || g->ctx->env.config->predict.service)
        return 0;
    unused = calloc(schema->n_columns + 1, sizeof *unused);
    if (!unused)
        return error_no_memory(err);
    feature_rows_unused(g->rows, schema, unused);
    for (size_t i = 0; i < schema->n_columns; i++) {
        unused[i] = unused[i] && !is_expected(g, schema->columns[i].name);
        any = any || unused[i];
    }
    frame_names_of(schema, unused, text, sizeof text);
    free(unused);
    if (any)
        event_add(g->ctx->env.log_dir, EVENT_NOTE,
                  "these columns are not features of the model, and are not used: %s",
                  text);
    return 0;
}

/* ---- Its outputs ---- */

static int output_add(struct prediction *g, const char *name, struct error *err)
{
    enum gbdt_output kind = GBDT_VALUE;
    const char *column =
        strcmp(name, output_names[GBDT_VALUE]) == 0 ? "prediction" : name;
    uint64_t shape[2] = {0, 0}, numbers = 1;
    raytrain_dtype dtype;
    int ndim = 0;

    while (kind < GBDT_OUTPUTS && strcmp(name, output_names[kind]) != 0)
        kind++;
    if (kind == GBDT_OUTPUTS) /* the configuration refuses it */
        return error_set(err, RAYTRAIN_EINVAL, "there is no output \"%s\"", name);
    if (g->booster.ops->shape(&g->booster, kind, shape, &ndim, err) < 0)
        return error_prefix(err, "predict.outputs: %s", name);
    dtype = kind == GBDT_CLASS || kind == GBDT_LEAF ? RAYTRAIN_INT32 : RAYTRAIN_FLOAT32;
    if (raytrain_predictor_output(g->predictor, column, dtype, ndim, shape))
        return call_failed(g, err);
    for (int i = 0; i < ndim; i++)
        numbers *= shape[i];
    g->outputs[g->n_outputs].kind = kind;
    g->outputs[g->n_outputs].column = column;
    g->outputs[g->n_outputs++].numbers = numbers;
    return 0;
}

static int outputs_add(struct prediction *g, struct error *err)
{
    const struct predict_config *cfg = &g->ctx->env.config->predict;

    if (cfg->n_outputs == 0)
        return output_add(g, output_names[GBDT_VALUE], err);
    for (size_t i = 0; i < cfg->n_outputs && i < GBDT_OUTPUTS; i++)
        if (output_add(g, cfg->outputs[i], err) < 0)
            return -1;
    return 0;
}

/* Choose the rows of a batch: with many features, or the contributions of each, rows
 * are large. */
static int batch_choose(struct prediction *g, struct error *err)
{
    uint64_t most = feature_rows_features(g->rows), rows;

    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].numbers > most)
            most = g->outputs[i].numbers;
    rows = BATCH_NUMBERS / (most > 0 ? most : 1);
    rows = rows < BATCH_MIN ? BATCH_MIN : rows > BATCH_MAX ? BATCH_MAX : rows;
    return raytrain_predictor_set_batch_size(g->predictor, rows) ? call_failed(g, err)
                                                                 : 0;
}

/* ---- Batches ---- */

/* Memory for the largest output of `rows` rows. */
static int prediction_values_reserve(struct prediction *g, uint64_t rows,
                                     struct error *err)
{
    uint64_t most = 1;

    if (rows <= g->batch)
        return 0;
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].numbers > most)
            most = g->outputs[i].numbers;
    free(g->values);
    g->batch = 0;
    g->values =
        rows > SIZE_MAX / most ? NULL : reallocarray(NULL, rows * most, sizeof(float));
    if (!g->values)
        return error_no_memory(err);
    g->batch = rows;
    return 0;
}

/* Add the place of a row that the model cannot take to the error. */
static int row_fail(const struct prediction *g, uint64_t rows, struct error *err)
{
    raytrain_dataset *input = raytrain_predictor_dataset(g->predictor);
    int64_t row = feature_rows_fault(g->rows);
    char place[ERROR_TEXT_MAX / 2];
    struct dataset_state at;

    if (row < 0 || g->ctx->env.config->predict.service)
        return -1;
    dataset_state_get(input, &at); /* after the batch */
    dataset_row_place(input, &g->ctx->input, at.position - rows + (uint64_t)row, place,
                      sizeof place);
    return error_prefix(err, "%s", place);
}

static int batch_predict(struct prediction *g, const struct frame *batch,
                         struct error *err)
{
    const struct booster_ops *ops = g->booster.ops;
    struct gbdt_rows rows = {.name = PREDICT_DATASET};
    int rc = prediction_values_reserve(g, batch->rows, err);

    if (rc == 0)
        rc = feature_rows_fill(g->rows, batch, &rows, err);
    if (rc < 0)
        rc = row_fail(g, batch->rows, err);
    for (size_t i = 0; i < g->n_outputs && rc == 0; i++) {
        rc = ops->predict(&g->booster, g->outputs[i].kind, &rows, g->values, err);
        if (rc == 0 &&
            raytrain_predictor_put(g->predictor, g->outputs[i].column, g->values))
            rc = call_failed(g, err);
    }
    gbdt_rows_clear(&rows);
    return rc;
}

static int batches_predict(struct prediction *g, struct error *err)
{
    raytrain_dataset *input = raytrain_predictor_dataset(g->predictor);
    uint64_t rows;
    struct error why;
    int rc;

    while ((rc = raytrain_predictor_next(g->predictor, &rows)) == RAYTRAIN_OK)
        if (batch_predict(g, dataset_batch(input), &why) < 0 &&
            predictor_fail(g->predictor, &why, err) < 0)
            return -1;
    return rc == RAYTRAIN_END ? 0 : call_failed(g, err);
}

static void prediction_clear(struct prediction *g)
{
    if (g->booster.ops && g->booster.impl)
        g->booster.ops->destroy(&g->booster, true);
    feature_rows_destroy(g->rows);
    for (size_t i = 0; g->names && i < g->n_features; i++)
        free(g->names[i]);
    free(g->names);
    free(g->values);
    json_decref(g->dmatrix);
}

int gbdt_predict(raytrain_context *ctx, raytrain_predictor *p)
{
    struct prediction g = {.ctx = ctx, .predictor = p};
    struct error *err = session_error(ctx);
    int rc = model_load(&g, err);

    if (rc == 0)
        rc = features_load(&g, err);
    if (rc == 0)
        rc = rows_prepare(&g, err);
    if (rc == 0)
        rc = prediction_unused_note(&g, err);
    if (rc == 0)
        rc = outputs_add(&g, err);
    if (rc == 0)
        rc = batch_choose(&g, err);
    if (rc == 0)
        rc = batches_predict(&g, err);
    prediction_clear(&g);
    return session_status(ctx, rc);
}
