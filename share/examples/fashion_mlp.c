/*
 * fashion_mlp.c - a training function: a data-parallel multi-layer perceptron on
 * Fashion-MNIST, whose gradients are averaged during the backward pass. Each worker
 * updates a part of the parameters (weight-update sharding).
 *
 *     cc -O2 -fopenmp-simd -shared -fPIC -o fashion_mlp.so fashion_mlp.c mlp.c mlp_cpu.c \
 *         $(pkg-config --cflags --libs raytrain openblas) -lm
 *     raytrain-run --workers 2 -c fashion_mlp.cfg
 *
 * The head of mlp_cuda.cu, which takes the place of mlp_cpu.c, has the lines for GPUs.
 *
 * train_loop_config: hidden = [512, 512], lr, momentum, epochs, batch_size (per worker).
 * datasets: "train" and "test", columns x (uint8, any shape) and y (uint8, 0..9).
 *
 * It predicts, too, the probability of each class and the best one:
 *
 *     raytrain-predict -n 2 --checkpoint raytrain_results/fashion \
 *         --data t10k-images-idx3-ubyte.gz -o predictions.h5 ./fashion_mlp.so
 *
 * A run that is interrupted and resumed gives bit-identical results. All state that
 * changes from step to step is in the checkpoint (parameters and velocity; the library
 * adds the position in the data), and no sum depends on timing or on the number of
 * threads (raytrain-run gives OpenBLAS as many threads as a worker has CPUs).
 *
 * The last batch of an epoch is shorter, and its size may differ between workers.
 * Therefore each worker sums the gradient over its rows and also contributes its number
 * of rows: mean of the sums / mean of the rows = the mean over all rows of all workers.
 */
#include <math.h>
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mlp.h"
#include "mlp_kernels.h"

#define CLASSES   10
#define MAX_WIDTH 65536

struct trainer {
    raytrain_context *ctx;
    raytrain_dataset *train, *test;
    raytrain_reducer *reducer;
    struct mlp mlp;
    double lr, momentum;
    int64_t epochs, batch_size;
};

/* ---- Tensors -------------------------------------------------------------------- */

/* Numbers of the network, on the host or on its GPU: [rows], or [rows][columns]. */
static raytrain_tensor tensor_of(const struct mlp *m, float *data, int rows,
                                 int columns)
{
    raytrain_tensor t = {.data = data,
                         .dtype = RAYTRAIN_FLOAT32,
                         .ndim = columns ? 2 : 1,
                         .shape = {rows, columns}};

    if (m->device >= 0) {
        t.device = RAYTRAIN_CUDA;
        t.device_id = m->device;
    }
    return t;
}

/* Tensor i of a block: weight and bias of the last layer first. */
static raytrain_tensor tensor_view(const struct mlp *m, float *block, int i)
{
    const struct mlp_layer *l = &m->layers[m->n_layers - 1 - i / 2];

    return i % 2 ? tensor_of(m, block + l->bias, l->out, 0)
                 : tensor_of(m, block + l->weight, l->out, l->in);
}

typedef int whole_op(raytrain_checkpoint *, const char *, const raytrain_tensor *);
typedef int part_op(raytrain_checkpoint *, const char *, const raytrain_tensor *,
                    const raytrain_slab *);

/* Put all state into a checkpoint or restore it, depending on the functions: parameters,
 * which every worker has, and this worker's parts of the momentum. */
static int visit_state(const struct trainer *t, raytrain_checkpoint *ck,
                       whole_op *whole, part_op *part)
{
    const struct mlp *m = &t->mlp;
    int rc = RAYTRAIN_OK;

    for (int i = 0; i < 2 * m->n_layers && rc == RAYTRAIN_OK; i++) {
        const char *kind = i % 2 ? "bias" : "weight";
        int number = m->n_layers - i / 2;
        raytrain_tensor tensor = tensor_view(m, m->params, i);
        raytrain_slab slab;
        size_t first, n;
        char name[64];

        snprintf(name, sizeof name, "model/fc%d/%s", number, kind);
        if ((rc = whole(ck, name, &tensor)) ||
            (rc = raytrain_reducer_shard(t->reducer, i, &slab, &first, &n)))
            return rc;
        tensor = tensor_view(m, m->velocity, i);
        tensor.data = (float *)tensor.data + first;
        snprintf(name, sizeof name, "optimizer/momentum/fc%d/%s", number, kind);
        rc = part(ck, name, &tensor, &slab);
    }
    return rc;
}

/* All gradients in the order of the backward pass, then the number of rows, which has no
 * parameter. The reducer allocates gradients and parameters, adjacent to each other, as
 * the network expects. */
static int create_reducer(struct trainer *t)
{
    struct mlp *m = &t->mlp;
    raytrain_tensor tensors[2 * MLP_MAX_LAYERS + 1];
    int n = 2 * m->n_layers, rc;

    for (int i = 0; i < n; i++) {
        tensors[i] = tensor_view(m, m->velocity, i);
        tensors[i].data = NULL;
    }
    tensors[n] = tensor_of(m, NULL, 1, 0);
    rc = raytrain_reducer_create_sharded(t->ctx, tensors, n + 1, tensors, n, 0,
                                         &t->reducer);
    if (rc == RAYTRAIN_OK) {
        m->grads = raytrain_reducer_data(t->reducer, 0);
        m->params = raytrain_reducer_param(t->reducer, 0);
    }
    return rc;
}

/* ---- Training ------------------------------------------------------------------- */

/* The backward pass has completed a layer: its weight and bias can be reduced now. */
static int layer_ready(void *arg, int layer)
{
    struct trainer *t = arg;
    size_t weight = 2 * (t->mlp.n_layers - 1 - layer);
    int rc = raytrain_reducer_ready(t->reducer, weight);

    return rc ? rc : raytrain_reducer_ready(t->reducer, weight + 1);
}

/* Update this worker's part of each tensor, then get those of the others. */
static int update(struct trainer *t, float lr, const float *mean_rows)
{
    struct mlp *m = &t->mlp;
    int rc;

    for (int i = 0; i < 2 * m->n_layers; i++) {
        size_t at = (float *)tensor_view(m, m->params, i).data - m->params, first, n;

        if ((rc = raytrain_reducer_shard(t->reducer, i, NULL, &first, &n)))
            return rc;
        mlp_sgd_step(m, at + first, n, lr, t->momentum, mean_rows);
    }
    return raytrain_reducer_gather(t->reducer);
}

static int step(struct trainer *t, int rows, float lr)
{
    struct mlp *m = &t->mlp;
    float *mean_rows = raytrain_reducer_data(t->reducer, 2 * m->n_layers);
    float own_rows = rows;
    int rc;

    kernels_write(mean_rows, &own_rows, sizeof own_rows);
    if ((rc = mlp_backward(m, rows, layer_ready, t)) ||
        (rc = raytrain_reducer_ready(t->reducer, 2 * m->n_layers)) ||
        (rc = raytrain_reducer_wait(t->reducer)))
        return rc;
    return update(t, lr, mean_rows);
}

/* One epoch of a dataset; with the training data, one step per batch. */
static int run_pass(struct trainer *t, raytrain_dataset *ds, float lr,
                    struct mlp_tally *sum)
{
    raytrain_tensor x, y;
    uint64_t rows;
    int rc;

    while ((rc = raytrain_dataset_next(ds, &rows)) == RAYTRAIN_OK) {
        if ((rc = raytrain_dataset_column(ds, "x", &x)) ||
            (rc = raytrain_dataset_column(ds, "y", &y)))
            return rc;
        mlp_load_pixels(&t->mlp, x.data, rows);
        mlp_forward(&t->mlp, rows);
        if (mlp_loss(&t->mlp, y.data, rows) < 0) {
            fprintf(stderr, "fashion_mlp: a label is not below %d\n", CLASSES);
            return RAYTRAIN_EINVAL;
        }
        if (ds == t->train && (rc = step(t, rows, lr)))
            return rc;
    }
    *sum = mlp_pass_end(&t->mlp);
    return rc == RAYTRAIN_END ? RAYTRAIN_OK : rc;
}

static int report(struct trainer *t, const struct mlp_tally *train,
                  const struct mlp_tally *test, double lr, double seconds)
{
    const raytrain_metric metrics[] = {
        {"loss", train->loss / train->rows},
        {"train_accuracy", train->correct / train->rows},
        {"test_loss", test->loss / test->rows},
        {"accuracy", test->correct / test->rows},
        {"lr", lr},
        {"samples_per_s", train->rows / seconds},
    };
    raytrain_checkpoint *ck = raytrain_checkpoint_create(t->ctx);
    int rc = visit_state(t, ck, raytrain_checkpoint_put, raytrain_checkpoint_put_shard);

    if (rc) {
        raytrain_checkpoint_discard(ck);
        return rc;
    }
    return raytrain_report(t->ctx, metrics, sizeof metrics / sizeof *metrics, ck);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int run_epoch(struct trainer *t)
{
    double done = (double)raytrain_dataset_epoch(t->train) / t->epochs;
    double lr = t->lr * 0.5 * (1 + cos(3.14159265358979 * done));
    double start = now(), seconds;
    struct mlp_tally sums[2] = {{0}};
    int rc;

    if ((rc = run_pass(t, t->train, lr, &sums[0])))
        return rc;
    seconds = now() - start;
    if ((rc = run_pass(t, t->test, 0, &sums[1])) ||
        (rc = raytrain_allreduce(t->ctx, sums, 2 * MLP_TALLY_DOUBLES, RAYTRAIN_FLOAT64,
                                 RAYTRAIN_SUM)))
        return rc;
    return report(t, &sums[0], &sums[1], lr, seconds);
}

/* ---- Setting up ----------------------------------------------------------------- */

/* The widths of all layers; [0] is determined by the data. */
static int read_config(struct trainer *t, int widths[MLP_MAX_LAYERS + 1], int *n_layers)
{
    const int64_t fallback[] = {512, 512}, *hidden;
    size_t n;
    int rc;

    if ((rc = raytrain_config_int_array(t->ctx, "hidden", fallback, 2, &hidden, &n)) ||
        (rc = raytrain_config_double(t->ctx, "lr", 0.05, &t->lr)) ||
        (rc = raytrain_config_double(t->ctx, "momentum", 0.9, &t->momentum)) ||
        (rc = raytrain_config_int(t->ctx, "epochs", 5, &t->epochs)) ||
        (rc = raytrain_config_int(t->ctx, "batch_size", 64, &t->batch_size)))
        return rc;

    bool sane = n < MLP_MAX_LAYERS && t->epochs >= 1 && t->batch_size >= 1 &&
                t->batch_size <= MAX_WIDTH;
    for (size_t i = 0; sane && i < n; i++) {
        sane = hidden[i] >= 1 && hidden[i] <= MAX_WIDTH;
        widths[i + 1] = hidden[i];
    }
    if (!sane) {
        fprintf(stderr,
                "fashion_mlp: train_loop_config: hidden takes up to %d widths of "
                "1..%d, batch_size 1..%d, epochs 1 or more\n",
                MLP_MAX_LAYERS - 1, MAX_WIDTH, MAX_WIDTH);
        return RAYTRAIN_EINVAL;
    }
    widths[n + 1] = CLASSES;
    *n_layers = n + 1;
    return RAYTRAIN_OK;
}

static int open_dataset(struct trainer *t, const char *name, raytrain_dataset **ds,
                        int *width)
{
    raytrain_tensor x, y;
    uint64_t pixels = 1;
    int rc;

    if (!(*ds = raytrain_get_dataset_shard(t->ctx, name)))
        return RAYTRAIN_ENOTFOUND;
    if ((rc = raytrain_dataset_set_batch_size(*ds, t->batch_size)) ||
        (rc = raytrain_dataset_column_info(*ds, "x", &x)) ||
        (rc = raytrain_dataset_column_info(*ds, "y", &y)))
        return rc;
    for (int d = 0; d < x.ndim && pixels <= MAX_WIDTH; d++)
        pixels *= x.shape[d];
    if (x.dtype != RAYTRAIN_UINT8 || y.dtype != RAYTRAIN_UINT8 || y.ndim != 0 ||
        pixels < 1 || pixels > MAX_WIDTH || (*width && pixels != (uint64_t)*width)) {
        fprintf(stderr,
                "fashion_mlp: dataset \"%s\": x must be bytes, as many a row as in "
                "\"train\", and y one byte\n",
                name);
        return RAYTRAIN_ETYPE;
    }
    *width = pixels;
    return RAYTRAIN_OK;
}

/* He initialisation: the same numbers on every worker, so no broadcast is needed. */
static int draw_weights(struct trainer *t)
{
    struct mlp *m = &t->mlp;
    float *drawn = malloc(m->n_params * sizeof *drawn);

    for (int i = 0; drawn && i < m->n_layers; i++) {
        const struct mlp_layer *l = &m->layers[i];
        double deviation = sqrt(2.0 / l->in);

        for (size_t k = l->weight; k < l->bias; k++)
            drawn[k] =
                deviation * raytrain_random_normal(t->ctx, RAYTRAIN_STREAM_SHARED);
        kernels_write(m->params + l->weight, drawn + l->weight,
                      (l->bias - l->weight) * sizeof *drawn);
    }
    free(drawn);
    return drawn ? RAYTRAIN_OK : RAYTRAIN_ENOMEM;
}

static int set_up(struct trainer *t)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(t->ctx);
    int widths[MLP_MAX_LAYERS + 1] = {0}, n_layers, rc;

    if ((rc = read_config(t, widths, &n_layers)) ||
        (rc = open_dataset(t, "train", &t->train, &widths[0])) ||
        (rc = open_dataset(t, "test", &t->test, &widths[0])))
        return rc;
    if (mlp_create(&t->mlp, widths, n_layers, t->batch_size) < 0) {
        fprintf(stderr, "fashion_mlp: no memory for the network\n");
        return RAYTRAIN_ENOMEM;
    }
    if ((rc = create_reducer(t)))
        return rc;
    if (from)
        return visit_state(t, from, raytrain_checkpoint_get,
                           raytrain_checkpoint_get_shard);
    return draw_weights(t);
}

int train_func(raytrain_context *ctx)
{
    struct trainer t = {.ctx = ctx};
    int rc = set_up(&t);

    if (rc == RAYTRAIN_OK) /* a report is an epoch */
        rc = raytrain_set_total(ctx, t.epochs);
    while (rc == RAYTRAIN_OK && !raytrain_should_stop(ctx) &&
           raytrain_dataset_epoch(t.train) < (uint64_t)t.epochs)
        rc = run_epoch(&t);
    if (rc && *raytrain_last_error(ctx)) /* our own errors have been printed */
        fprintf(stderr, "fashion_mlp: %s\n", raytrain_last_error(ctx));
    raytrain_reducer_destroy(t.reducer);
    mlp_destroy(&t.mlp);
    return rc;
}

/* ---- Predicting ----------------------------------------------------------------- */

#define PREDICT_BATCH 256

struct predictor {
    raytrain_predictor *p;
    struct mlp mlp;
    float *probability; /* [batch][CLASSES] */
    uint8_t *best;      /* [batch] */
};

/* The network of a checkpoint: its widths are those of the weights. */
static int restore_network(struct predictor *f, raytrain_checkpoint *ck, int batch)
{
    int widths[MLP_MAX_LAYERS + 1] = {0}, n = 0, rc = RAYTRAIN_OK;
    raytrain_tensor t;
    char name[64];

    for (; n < MLP_MAX_LAYERS; n++) {
        snprintf(name, sizeof name, "model/fc%d/weight", n + 1);
        if (raytrain_checkpoint_info(ck, name, &t) || t.ndim != 2)
            break;
        widths[n + 1] = t.shape[0];
        widths[n] = t.shape[1];
    }
    if (n == 0 || widths[n] != CLASSES) {
        fprintf(stderr, "fashion_mlp: the checkpoint has no such network\n");
        return RAYTRAIN_ENOTFOUND;
    }
    if (mlp_create(&f->mlp, widths, n, batch) < 0 ||
        !(f->mlp.params = kernels_alloc(f->mlp.n_params * sizeof(float))))
        return RAYTRAIN_ENOMEM;
    for (int i = 0; i < 2 * n && rc == RAYTRAIN_OK; i++) {
        t = tensor_view(&f->mlp, f->mlp.params, i);
        snprintf(name, sizeof name, "model/fc%d/%s", n - i / 2,
                 i % 2 ? "bias" : "weight");
        rc = raytrain_checkpoint_get(ck, name, &t);
    }
    return rc;
}

static int predict_batch(struct predictor *f, uint64_t rows)
{
    raytrain_tensor x;
    int rc;

    if ((rc = raytrain_dataset_column(raytrain_predictor_dataset(f->p), "x", &x)))
        return rc;
    mlp_load_pixels(&f->mlp, x.data, rows);
    mlp_forward(&f->mlp, rows);
    mlp_classify(&f->mlp, rows, f->probability, f->best);
    if ((rc = raytrain_predictor_put(f->p, "probability", f->probability)))
        return rc;
    return raytrain_predictor_put(f->p, "class", f->best);
}

static int check_input(struct predictor *f)
{
    raytrain_tensor x;
    uint64_t pixels = 1;
    int rc = raytrain_dataset_column_info(raytrain_predictor_dataset(f->p), "x", &x);

    for (int d = 0; rc == RAYTRAIN_OK && d < x.ndim; d++)
        pixels *= x.shape[d];
    if (rc == RAYTRAIN_OK &&
        (x.dtype != RAYTRAIN_UINT8 || pixels != (uint64_t)f->mlp.layers[0].in)) {
        fprintf(stderr, "fashion_mlp: x must be %d bytes a row\n", f->mlp.layers[0].in);
        return RAYTRAIN_ETYPE;
    }
    return rc;
}

/* The first batch is the largest. */
static int predict_all(struct predictor *f, raytrain_checkpoint *ck)
{
    const uint64_t classes = CLASSES;
    uint64_t rows;
    int rc;

    if ((rc = raytrain_predictor_set_batch_size(f->p, PREDICT_BATCH)) ||
        (rc = raytrain_predictor_output(f->p, "class", RAYTRAIN_UINT8, 0, NULL)) ||
        (rc = raytrain_predictor_output(f->p, "probability", RAYTRAIN_FLOAT32, 1,
                                        &classes)))
        return rc;
    while ((rc = raytrain_predictor_next(f->p, &rows)) == RAYTRAIN_OK) {
        if (!f->best) {
            f->best = malloc(rows);
            f->probability = malloc(rows * CLASSES * sizeof(float));
            if (!f->best || !f->probability)
                return RAYTRAIN_ENOMEM;
            if ((rc = restore_network(f, ck, rows)) || (rc = check_input(f)))
                return rc;
        }
        if ((rc = predict_batch(f, rows)))
            return rc;
    }
    return rc == RAYTRAIN_END ? RAYTRAIN_OK : rc;
}

int predict_func(raytrain_context *ctx, raytrain_predictor *p)
{
    struct predictor f = {.p = p};
    int rc = predict_all(&f, raytrain_get_checkpoint(ctx));

    kernels_free(f.mlp.params);
    mlp_destroy(&f.mlp);
    free(f.probability);
    free(f.best);
    return rc;
}
