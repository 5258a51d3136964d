/*
 * device_batches.c - a training function for tests that sees the batches of the dataset
 * "train" in memory of a CUDA GPU, that of the stand-in (t/device), or of the host: the
 * numbers are the same, on any number of workers.
 *
 * A kernel for each column of a batch adds numbers of the rows' bytes to a sum on the
 * GPU. The kernels are queued on one stream, and not waited for unless `sync` says so.
 * A report after `every` batches has a checkpoint with the sums over all workers,
 * model/weight.
 *
 * train_loop_config:
 *   columns = "x,y"
 *   batch (12): rows of all workers together; epochs (2); every (4)
 *   device (true): batches are on GPU local_rank % 2; false: on the host
 *   sync (false): wait for each batch's kernels
 *   grow (false): the batch size changes with the second epoch
 *   ragged = NAME: a column that raytrain_dataset_ragged() must have, in host memory
 *   capture (false): a graph is captured from each report to the next, on a stream that has no
 *          part in this; it must not be spoiled
 *   back (false): from the second epoch on, batches are in host memory
 *   kill_at (0): the last rank is killed at the report of this iteration
 *   fail = a value of STANDIN_CUDA_FAIL, from the third batch on
 *   wrong = "device": asks for a GPU that is not there | "kind": for another kind of device
 */
#include <raytrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin_calls.h"
#include "standin_fail.h"

/* ---- The job ---- */

#define COLUMNS_MAX 8

struct job {
    raytrain_context *ctx;
    raytrain_dataset *ds;
    bool device, sync, grow, back, capture;
    int id;
    char names[256];
    const char *columns[COLUMNS_MAX], *ragged, *fail;
    size_t n_columns;
    int64_t batch, epochs, every, kill_at;
    int64_t n_batches;
    double *sums;   /* of each column: on the GPU, or the host */
    void *captured; /* the stream that captures; NULL: none does */
};

static bool setting(const struct job *j, const char *key, bool fallback)
{
    bool value;

    if (raytrain_config_bool(j->ctx, key, fallback, &value))
        abort();
    return value;
}

static int64_t number(const struct job *j, const char *key, int64_t fallback)
{
    int64_t value;

    if (raytrain_config_int(j->ctx, key, fallback, &value))
        abort();
    return value;
}

static const char *text(const struct job *j, const char *key, const char *fallback)
{
    const char *value;

    if (raytrain_config_string(j->ctx, key, fallback, &value))
        abort();
    return value;
}

static void job_read(struct job *j, raytrain_context *ctx)
{
    char *name;

    *j = (struct job){.ctx = ctx};
    j->device = setting(j, "device", true);
    j->sync = setting(j, "sync", false);
    j->grow = setting(j, "grow", false);
    j->back = setting(j, "back", false);
    j->capture = setting(j, "capture", false);
    j->batch = number(j, "batch", 12);
    j->epochs = number(j, "epochs", 2);
    j->every = number(j, "every", 4);
    j->kill_at = number(j, "kill_at", 0);
    j->ragged = text(j, "ragged", "");
    j->fail = text(j, "fail", "");
    snprintf(j->names, sizeof j->names, "%s", text(j, "columns", "x,y"));
    for (name = strtok(j->names, ","); name && j->n_columns < COLUMNS_MAX;
         name = strtok(NULL, ","))
        j->columns[j->n_columns++] = name;
    j->id = j->device ? raytrain_local_rank(ctx) % 2 : 0;
}

static raytrain_tensor sums_of(const struct job *j)
{
    return (raytrain_tensor){.data = j->sums,
                             .dtype = RAYTRAIN_FLOAT64,
                             .ndim = 1,
                             .shape = {j->n_columns},
                             .device = j->device ? RAYTRAIN_CUDA : RAYTRAIN_HOST,
                             .device_id = j->id};
}

/* ---- Kernels ---- */

struct kernel {
    double *sum;
    const unsigned char *rows; /* NULL: sum becomes 0 */
    uint64_t n, row_bytes;
    double times;
    bool on_host;
};

/* Small numbers: their sums are exact, in any order. */
static double row_number(const unsigned char *row, uint64_t n)
{
    uint64_t hash = 14695981039346656037u;

    for (uint64_t i = 0; i < n; i++)
        hash = (hash ^ row[i]) * 1099511628211u;
    return (double)(hash >> 44);
}

static void kernel_step(const struct kernel *k, double *sum, const unsigned char *rows)
{
    if (!rows)
        *sum = 0;
    for (uint64_t i = 0; rows && i < k->n; i++)
        *sum += k->times * row_number(rows + i * k->row_bytes, k->row_bytes);
}

static void kernel_run(void *arg)
{
    struct kernel *k = arg;
    const unsigned char *rows = k->rows;

    if (rows && k->n > 0 && !k->on_host)
        rows = cuda.standin_inside((uintptr_t)rows);
    kernel_step(k, cuda.standin_inside((uintptr_t)k->sum), rows);
    free(k);
}

static void launch(const struct job *j, struct kernel k)
{
    struct kernel *copy;

    if (!j->device) {
        kernel_step(&k, k.sum, k.rows);
        return;
    }
    copy = malloc(sizeof k);
    *copy = k;
    must(cuda.standin_launch(NULL, kernel_run, copy));
    if (k.on_host) /* its memory is used again by the next call */
        must(cuda.cuStreamSynchronize(NULL));
}

/* ---- Training ---- */

static int sums_begin(struct job *j)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(j->ctx);
    raytrain_tensor sums;
    void *context;
    uint64_t p;

    if (j->device) {
        standin_open("libcuda.so.1");
        must(cuda.cuInit(0));
        must(cuda.cuDevicePrimaryCtxRetain(&context, j->id));
        must(cuda.cuCtxSetCurrent(context));
        must(cuda.cuMemAlloc_v2(&p, j->n_columns * sizeof(double)));
        j->sums = (double *)(uintptr_t)p;
    } else {
        j->sums = calloc(j->n_columns, sizeof(double));
    }
    sums = sums_of(j);
    for (size_t i = 0; i < j->n_columns; i++)
        launch(j, (struct kernel){.sum = j->sums + i});
    if (!from || raytrain_rank(j->ctx) != 0)
        return 0;
    return raytrain_checkpoint_get(from, "model/weight", &sums);
}

static void sums_end(struct job *j)
{
    if (!j->device) {
        free(j->sums);
        return;
    }
    must(cuda.cuMemFree_v2((uintptr_t)j->sums));
    must(cuda.cuDevicePrimaryCtxRelease_v2(j->id));
}

static int column_use(struct job *j, size_t i, uint64_t rows)
{
    raytrain_tensor t;
    uint64_t bytes;
    int rc = raytrain_dataset_column(j->ds, j->columns[i], &t);

    if (rc)
        return rc;
    if (t.shape[0] != rows || t.device_id != (t.device == RAYTRAIN_CUDA ? j->id : 0) ||
        (!j->back && t.device != (j->device ? RAYTRAIN_CUDA : RAYTRAIN_HOST)))
        abort();
    bytes = raytrain_dtype_size(t.dtype);
    for (int d = 1; d < t.ndim; d++)
        bytes *= t.shape[d];
    launch(j, (struct kernel){.sum = j->sums + i,
                              .rows = t.data,
                              .n = rows,
                              .row_bytes = bytes,
                              .times = (double)(j->n_batches % 50 + 1),
                              .on_host = t.device == RAYTRAIN_HOST});
    return 0;
}

static int batch_use(struct job *j, uint64_t rows)
{
    raytrain_ragged ragged;
    int rc = 0;

    j->n_batches++;
    for (size_t i = 0; rc == 0 && i < j->n_columns; i++)
        rc = column_use(j, i, rows);
    if (rc == 0 && *j->ragged) {
        rc = raytrain_dataset_ragged(j->ds, j->ragged, &ragged);
        if (rc == 0 && (ragged.rows != rows || ragged.offsets[0] != 0))
            abort();
    }
    if (j->device && j->sync)
        must(cuda.cuStreamSynchronize(NULL));
    if (*j->fail && j->n_batches == 3)
        standin_fail("STANDIN_CUDA_FAIL", j->fail);
    return rc;
}

/* In the global mode, in which unsafe calls of any thread spoil it. */
static void capture_begin(struct job *j)
{
    if (!j->capture || j->captured)
        return;
    must(cuda.cuStreamCreate(&j->captured, 1));
    must(cuda.cuStreamBeginCapture_v2(j->captured, 0));
}

static void capture_end(struct job *j)
{
    void *graph;

    if (!j->captured)
        return;
    must(cuda.cuStreamEndCapture(j->captured, &graph));
    must(cuda.cuStreamDestroy_v2(j->captured));
    j->captured = NULL;
}

/* The sums of all workers, with which rank 0 continues. */
static int report(struct job *j)
{
    const raytrain_metric metrics[] = {{"loss", 1}};
    raytrain_tensor sums = sums_of(j);
    raytrain_checkpoint *ck;
    int rc;

    capture_end(j);
    rc = raytrain_allreduce_tensor(j->ctx, &sums, RAYTRAIN_SUM);
    if (rc)
        return rc;
    if (raytrain_training_iteration(j->ctx) + 1 == j->kill_at &&
        raytrain_rank(j->ctx) == raytrain_world_size(j->ctx) - 1)
        kill(getpid(), SIGKILL);
    ck = raytrain_checkpoint_create(j->ctx);
    rc = raytrain_checkpoint_put(ck, "model/weight", &sums);
    if (rc == 0)
        rc = raytrain_report(j->ctx, metrics, 1, ck);
    for (size_t i = 0; raytrain_rank(j->ctx) != 0 && i < j->n_columns; i++)
        launch(j, (struct kernel){.sum = j->sums + i});
    return rc;
}

static int epoch_begin(const struct job *j)
{
    uint64_t size = (uint64_t)raytrain_world_size(j->ctx);
    bool later = raytrain_dataset_epoch(j->ds) > 0;
    int rc = 0;

    if (later && j->back)
        rc = raytrain_dataset_to_device(j->ds, RAYTRAIN_HOST, 0);
    if (rc == 0)
        rc = raytrain_dataset_set_batch_size(
            j->ds, (uint64_t)j->batch * (later && j->grow ? 3 : 1) / size);
    return rc;
}

static int epoch_run(struct job *j)
{
    uint64_t rows;
    int rc = epoch_begin(j);

    while (rc == 0) {
        capture_begin(j);
        if ((rc = raytrain_dataset_next(j->ds, &rows)) == 0)
            rc = batch_use(j, rows);
        if (rc == 0 && j->n_batches % j->every == 0)
            rc = report(j);
    }
    return rc == RAYTRAIN_END ? 0 : rc;
}

static int dataset_begin(struct job *j)
{
    const char *wrong = text(j, "wrong", "");
    bool other = strcmp(wrong, "device") == 0, kind = strcmp(wrong, "kind") == 0;

    j->ds = raytrain_get_dataset_shard(j->ctx, "train");
    if (!j->ds)
        return raytrain_last_status(j->ctx);
    if (!j->device && !*wrong)
        return 0;
    return raytrain_dataset_to_device(j->ds, kind ? (raytrain_device)9 : RAYTRAIN_CUDA,
                                      other ? 5 : j->id);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    struct job j;
    int rc;

    standin_fail_prepare();
    job_read(&j, ctx);
    j.n_batches = raytrain_training_iteration(ctx) * j.every;
    rc = sums_begin(&j);
    if (rc == 0)
        rc = dataset_begin(&j);
    while (rc == 0 && raytrain_dataset_epoch(j.ds) < (uint64_t)j.epochs)
        rc = epoch_run(&j);
    if (rc == 0)
        rc = report(&j);
    if (rc == 0)
        sums_end(&j);
    return rc;
}
