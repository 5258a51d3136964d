/*
 * tabular.c - a training function for the rows of a table: logistic regression on what the
 * preprocessors of tabular.cfg make of customers; and a predict function for its
 * checkpoints, which does the same with other customers first.
 *
 *     cc -O2 -shared -fPIC -o tabular.so tabular.c $(pkg-config --cflags --libs raytrain) -lm
 *     python3 customers.py && raytrain-run -c tabular.cfg
 *     raytrain-predict --checkpoint raytrain_results/tabular --data customers-test.csv \
 *         -o bought.csv ./tabular.so
 *
 * datasets: "train" and "test", with the columns features (float32 vectors) and bought (the
 * number of the label, 0 or 1, as float32). train_loop_config: lr, epochs, batch_size (per worker).
 */
#include <math.h>
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>

struct model {
    raytrain_tensor weights; /* of the features, and the bias behind them */
    size_t width;
    double
        *gradient; /* of the weights, summed over rows; then rows, loss, correct ones */
};

#define SUMS 3

static double dot(const struct model *m, const float *x)
{
    const float *w = m->weights.data;
    double sum = w[m->width];

    for (size_t i = 0; i < m->width; i++)
        sum += w[i] * x[i];
    return sum;
}

/* Add the gradient, the loss and the correct predictions of a batch. */
static int batch_add(struct model *m, raytrain_dataset *data, uint64_t rows)
{
    raytrain_tensor x, y;
    double *sums = m->gradient + m->width + 1;
    int rc = raytrain_dataset_column(data, "features", &x);

    if (rc == RAYTRAIN_OK)
        rc = raytrain_dataset_column(data, "bought", &y);
    for (uint64_t row = 0; rc == RAYTRAIN_OK && row < rows; row++) {
        const float *features = (const float *)x.data + row * m->width;
        const float *labels = y.data;
        double score = dot(m, features), label = labels[row];
        double error = 1 / (1 + exp(-score)) - label;

        for (size_t i = 0; i < m->width; i++)
            m->gradient[i] += error * features[i];
        m->gradient[m->width] += error;
        sums[0]++;
        sums[1] += log1p(exp(-fabs(score))) + fmax(score, 0) - score * label;
        sums[2] += (score > 0) == (label > 0.5);
    }
    return rc;
}

static void sums_clear(struct model *m)
{
    for (size_t i = 0; i < m->width + 1 + SUMS; i++)
        m->gradient[i] = 0;
}

/* Over all workers. */
static int sums_combine(raytrain_context *ctx, struct model *m)
{
    return raytrain_allreduce(ctx, m->gradient, m->width + 1 + SUMS, RAYTRAIN_FLOAT64,
                              RAYTRAIN_SUM);
}

static int train_epoch(raytrain_context *ctx, struct model *m, raytrain_dataset *data,
                       double lr)
{
    float *w = m->weights.data;
    uint64_t rows;
    int rc;

    while ((rc = raytrain_dataset_next(data, &rows)) == RAYTRAIN_OK) {
        sums_clear(m);
        if (batch_add(m, data, rows) || sums_combine(ctx, m))
            return 1;
        for (size_t i = 0; i <= m->width; i++)
            w[i] -= (float)(lr * m->gradient[i] / m->gradient[m->width + 1]);
    }
    return rc == RAYTRAIN_END ? 0 : 1;
}

static int evaluate(raytrain_context *ctx, struct model *m, raytrain_dataset *data,
                    raytrain_metric metrics[2])
{
    double *sums = m->gradient + m->width + 1;
    uint64_t rows;
    int rc;

    sums_clear(m);
    while ((rc = raytrain_dataset_next(data, &rows)) == RAYTRAIN_OK)
        if (batch_add(m, data, rows))
            return 1;
    if (rc != RAYTRAIN_END || sums_combine(ctx, m))
        return 1;
    metrics[0] = (raytrain_metric){"loss", sums[1] / sums[0]};
    metrics[1] = (raytrain_metric){"accuracy", sums[2] / sums[0]};
    return 0;
}

static int check_label(raytrain_dataset *data)
{
    raytrain_tensor label;

    if (raytrain_dataset_column_info(data, "bought", &label))
        return 1;
    if (label.dtype == RAYTRAIN_FLOAT32)
        return 0;
    fprintf(stderr, "bought must be float32\n");
    return 1;
}

static int model_create(raytrain_context *ctx, raytrain_dataset *data, struct model *m)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);
    raytrain_tensor row;

    if (raytrain_dataset_column_info(data, "features", &row))
        return 1;
    if (row.dtype != RAYTRAIN_FLOAT32 || row.ndim != 1) {
        fprintf(stderr, "features must be float32 vectors\n");
        return 1;
    }
    m->width = row.shape[0];
    m->weights = (raytrain_tensor){.data = calloc(m->width + 1, sizeof(float)),
                                   .dtype = RAYTRAIN_FLOAT32,
                                   .ndim = 1,
                                   .shape = {m->width + 1}};
    m->gradient = calloc(m->width + 1 + SUMS, sizeof *m->gradient);
    if (!m->weights.data || !m->gradient)
        return 1;
    return from ? raytrain_checkpoint_get(from, "model/weights", &m->weights) : 0;
}

static void model_free(struct model *m)
{
    free(m->weights.data);
    free(m->gradient);
}

static int train(raytrain_context *ctx, struct model *m, raytrain_dataset *data,
                 raytrain_dataset *test)
{
    raytrain_metric metrics[2];
    int64_t epochs, batch_size;
    double lr;

    if (raytrain_config_double(ctx, "lr", 0.5, &lr) ||
        raytrain_config_int(ctx, "epochs", 20, &epochs) ||
        raytrain_config_int(ctx, "batch_size", 512, &batch_size) ||
        raytrain_dataset_set_batch_size(data, (uint64_t)batch_size) ||
        raytrain_dataset_set_batch_size(test, (uint64_t)batch_size))
        return 1;
    while (raytrain_training_iteration(ctx) < epochs && !raytrain_should_stop(ctx)) {
        raytrain_checkpoint *ck;

        if (train_epoch(ctx, m, data, lr) || evaluate(ctx, m, test, metrics))
            return 1;
        ck = raytrain_checkpoint_create(ctx);
        if (raytrain_checkpoint_put(ck, "model/weights", &m->weights) ||
            raytrain_report(ctx, metrics, 2, ck))
            return 1;
    }
    return 0;
}

int train_func(raytrain_context *ctx)
{
    raytrain_dataset *data = raytrain_get_dataset_shard(ctx, "train");
    raytrain_dataset *test = raytrain_get_dataset_shard(ctx, "test");
    struct model m = {0};
    int rc = !data || !test || check_label(data) || model_create(ctx, data, &m) ||
             train(ctx, &m, data, test);

    model_free(&m);
    return rc;
}

/* ---- Predictions ---- */

static int predict_batch(raytrain_predictor *p, const struct model *m, uint64_t rows,
                         float *probability)
{
    raytrain_tensor x;

    if (raytrain_dataset_column(raytrain_predictor_dataset(p), "features", &x))
        return 1;
    for (uint64_t row = 0; row < rows; row++)
        probability[row] =
            (float)(1 / (1 + exp(-dot(m, (const float *)x.data + row * m->width))));
    return raytrain_predictor_put(p, "probability", probability);
}

int predict_func(raytrain_context *ctx, raytrain_predictor *p)
{
    struct model m = {0};
    float *probability = NULL;
    uint64_t rows;
    int rc = model_create(ctx, raytrain_predictor_dataset(p), &m) ||
             raytrain_predictor_output(p, "probability", RAYTRAIN_FLOAT32, 0, NULL);

    while (rc == 0 && (rc = raytrain_predictor_next(p, &rows)) == RAYTRAIN_OK) {
        if (!probability) /* the first batch is the largest */
            probability = malloc(rows * sizeof *probability);
        rc = !probability || predict_batch(p, &m, rows, probability);
    }
    free(probability);
    model_free(&m);
    return rc == RAYTRAIN_END ? 0 : 1;
}
