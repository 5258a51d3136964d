/*
 * predictions.c - a model that is one number, which a training makes and a prediction
 * uses.
 *
 * train_func: iteration i of `iterations` = 3 saves weight = i, with the metric
 * `score`, which is best at iteration 2 (and NaN at iteration nan_at = 0).
 *
 * predict_func: columns x (float32, any shape) and id (int64) of the input; outputs
 * `score` (float32): weight x the sum of x; `parts` (float64, [2]): weight x id, rows
 * in the batch (with PREDICT_SCORE_ONLY in the environment: score alone).
 *
 * train_loop_config of a prediction: batch = 0 (rows; 0: the default); fail = "":
 * "return" (an error of its own at row fail_at), "forget" (an output is not put),
 * "early" (it returns before the end), "late" (an output after the first batch),
 * "column" (a column that is not there); marks = "": a file to which each batch adds a
 * byte; ready, gate = PATH: rank 0 creates `ready` at its batch 10, and from there on
 * each rank waits until `gate` exists; first = PATH: of several workers, the one that
 * creates `first` continues, and the others create `first`.late and load their model
 * when they are asked to stop.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <raytrain.h>

int train_func(raytrain_context *ctx);
int predict_func(raytrain_context *ctx, raytrain_predictor *p);

int train_func(raytrain_context *ctx)
{
    int64_t iterations, nan_at = 0;
    int rc = raytrain_config_int(ctx, "iterations", 3, &iterations);

    if (rc == RAYTRAIN_OK)
        rc = raytrain_config_int(ctx, "nan_at", 0, &nan_at);
    while (rc == RAYTRAIN_OK && raytrain_training_iteration(ctx) < iterations) {
        double weight = (double)raytrain_training_iteration(ctx) + 1;
        raytrain_metric score = {"score", weight == 2 ? 10 : weight};
        raytrain_tensor t = {.data = &weight, .dtype = RAYTRAIN_FLOAT64};
        raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

        if (weight == (double)nan_at)
            score.value = (double)NAN;

        rc = raytrain_checkpoint_put(ck, "weight", &t);
        if (rc == RAYTRAIN_OK)
            rc = raytrain_report(ctx, &score, 1, ck);
    }
    return rc;
}

struct predicting {
    raytrain_context *ctx;
    raytrain_predictor *p;
    double weight;
    int64_t fail_at;
    const char *fail, *marks, *ready, *gate;
    int batches;
    float *score;
    double *parts;
};

/* Count the batch, for a test that looks how many there were. */
static void mark(const struct predicting *m)
{
    int fd = *m->marks ? open(m->marks, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;

    if (fd >= 0 && write(fd, "b", 1) == 1)
        close(fd);
}

/* Once a part is complete on each rank. */
static void gate_wait(struct predicting *m)
{
    const struct timespec short_time = {.tv_nsec = 10000000};

    if (!*m->gate || ++m->batches < 10)
        return;
    if (m->batches == 10 && raytrain_rank(m->ctx) == 0)
        close(open(m->ready, O_WRONLY | O_CREAT, 0666));
    while (access(m->gate, F_OK) < 0)
        nanosleep(&short_time, NULL);
}

/* A model that takes long to load. A signal ends the sleep. */
static int late_wait(const char *first)
{
    char late[4096];
    int fd = *first ? open(first, O_WRONLY | O_CREAT | O_EXCL, 0666) : -1;

    if (fd >= 0)
        return close(fd);
    if (!*first)
        return 0;
    snprintf(late, sizeof late, "%s.late", first);
    fd = open(late, O_WRONLY | O_CREAT, 0666);
    sleep(120);
    return fd < 0 ? -1 : close(fd);
}

static int batch(struct predicting *m, uint64_t rows)
{
    raytrain_dataset *ds = raytrain_predictor_dataset(m->p);
    raytrain_tensor x, id;
    size_t width = 1;
    int rc;

    if ((rc = raytrain_dataset_column(ds, "x", &x)) ||
        (rc = raytrain_dataset_column(ds, strcmp(m->fail, "column") ? "id" : "absent",
                                      &id)))
        return rc;
    mark(m);
    gate_wait(m);
    for (int i = 1; i < x.ndim; i++)
        width *= (size_t)x.shape[i];
    for (uint64_t row = 0; row < rows; row++) {
        double sum = 0;

        for (size_t k = 0; k < width; k++)
            sum += (double)((float *)x.data)[row * width + k];
        if (strcmp(m->fail, "return") == 0 && ((int64_t *)id.data)[row] == m->fail_at) {
            fprintf(stderr, "row %lld is bad\n", (long long)m->fail_at);
            return 99;
        }
        m->score[row] = (float)(m->weight * sum);
        m->parts[2 * row] = m->weight * (double)((int64_t *)id.data)[row];
        m->parts[2 * row + 1] = (double)rows;
    }
    if (strcmp(m->fail, "late") == 0)
        return raytrain_predictor_output(m->p, "more", RAYTRAIN_INT8, 0, NULL);
    rc = raytrain_predictor_put(m->p, "score", m->score);
    if (rc == RAYTRAIN_OK && strcmp(m->fail, "forget") != 0 &&
        !getenv("PREDICT_SCORE_ONLY"))
        rc = raytrain_predictor_put(m->p, "parts", m->parts);
    return rc;
}

static int batches(struct predicting *m, uint64_t most)
{
    uint64_t two = 2, rows;
    int rc = RAYTRAIN_OK;

    if ((rc = raytrain_predictor_output(m->p, "score", RAYTRAIN_FLOAT32, 0, NULL)))
        return rc;
    if (!getenv("PREDICT_SCORE_ONLY") &&
        (rc = raytrain_predictor_output(m->p, "parts", RAYTRAIN_FLOAT64, 1, &two)))
        return rc;
    m->score = calloc(most, sizeof *m->score);
    m->parts = calloc(most, 2 * sizeof *m->parts);
    if (!m->score || !m->parts)
        return RAYTRAIN_ENOMEM;
    while ((rc = raytrain_predictor_next(m->p, &rows)) == RAYTRAIN_OK)
        if (strcmp(m->fail, "early") == 0 || (rc = batch(m, rows)))
            return rc;
    return rc == RAYTRAIN_END ? 0 : rc;
}

int predict_func(raytrain_context *ctx, raytrain_predictor *p)
{
    struct predicting m = {.ctx = ctx, .p = p};
    raytrain_tensor t = {.data = &m.weight, .dtype = RAYTRAIN_FLOAT64};
    const char *first;
    int64_t rows;
    int rc;

    if ((rc = raytrain_config_string(ctx, "first", "", &first)) ||
        (rc = late_wait(first)) ||
        (rc = raytrain_checkpoint_get(raytrain_get_checkpoint(ctx), "weight", &t)) ||
        (rc = raytrain_config_int(ctx, "batch", 0, &rows)) ||
        (rc = raytrain_config_int(ctx, "fail_at", 0, &m.fail_at)) ||
        (rc = raytrain_config_string(ctx, "fail", "", &m.fail)) ||
        (rc = raytrain_config_string(ctx, "marks", "", &m.marks)) ||
        (rc = raytrain_config_string(ctx, "ready", "", &m.ready)) ||
        (rc = raytrain_config_string(ctx, "gate", "", &m.gate)))
        return rc;
    if (rows > 0)
        rc = raytrain_predictor_set_batch_size(p, (uint64_t)rows);
    if (rc == RAYTRAIN_OK)
        rc = batches(&m, 100000);
    free(m.score);
    free(m.parts);
    return rc;
}
