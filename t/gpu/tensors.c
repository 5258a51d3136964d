/*
 * tensors.c - a training function for a machine with NVIDIA GPUs: what raytrain does with
 * memory of real GPUs, by the CUDA runtime. All numbers are small integers, so that sums are
 * exact, also as 16-bit floats. Argument:
 *
 *   state    put tensors, whole and in parts, and report; if there is a checkpoint, get them,
 *            and compare
 *   overlap  put a tensor that changes after each report, while it is copied; if there is a
 *            checkpoint, it has the tensor as it was
 *   batches  get the batches of a dataset with one column, x: 0, 1, 2, ... 9,999
 *   collect  sums and means of four types, broadcast, allgather
 *   reduce   means of gradients, and parts of parameters
 *   wrong    memory that is not what it is said to be: an error each
 */
#include <cuda_runtime.h>
#include <math.h>
#include <raytrain.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 3000001 /* elements: more than a piece of what is copied at once */

#define CUDA(...) must((__VA_ARGS__) == cudaSuccess, #__VA_ARGS__)
#define IS(...)   must(__VA_ARGS__, #__VA_ARGS__)

int train_func(raytrain_context *ctx);

static raytrain_context *ctx;
static int device, rank, size;

static void must(int is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "tensors: rank %d: not so: %s: %s\n", rank, what,
            raytrain_last_error(ctx));
    exit(1);
}

static float number(size_t i, int of_rank)
{
    return (float)((int)(i % 17) + of_rank);
}

static void *on_device(const void *host, size_t n)
{
    void *p;

    CUDA(cudaMalloc(&p, n));
    CUDA(cudaMemcpy(p, host, n, cudaMemcpyHostToDevice));
    return p;
}

static float *numbers(size_t n, int of_rank)
{
    float *host = malloc(n * sizeof *host), *p;

    IS(host != NULL);
    for (size_t i = 0; i < n; i++)
        host[i] = number(i, of_rank);
    p = on_device(host, n * sizeof *host);
    free(host);
    return p;
}

/* Is element i a + b x (i % 17)? A mean may be rounded. */
static void look(const float *p, size_t n, double a, double b)
{
    float *host = malloc(n * sizeof *host);

    IS(host != NULL);
    CUDA(cudaMemcpy(host, p, n * sizeof *host, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        if (fabs(host[i] - (a + b * (double)(i % 17))) > 1e-4) {
            fprintf(stderr, "tensors: element %zu is %g\n", i, (double)host[i]);
            IS(!"the numbers are right");
        }
    free(host);
}

static raytrain_tensor tensor(void *p, raytrain_dtype dtype, uint64_t n)
{
    return (raytrain_tensor){.data = p,
                             .dtype = dtype,
                             .ndim = 1,
                             .shape = {n},
                             .device = RAYTRAIN_CUDA,
                             .device_id = device};
}

/* ---- Checkpoints ---- */

static int state(void)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);
    uint64_t first = (uint64_t)N * rank / size, end = (uint64_t)N * (rank + 1) / size;
    raytrain_slab slab = {{first}, {end - first}};
    float *whole = numbers(N, 0);
    raytrain_tensor t = tensor(whole, RAYTRAIN_FLOAT32, N);
    raytrain_tensor part = tensor(whole + first, RAYTRAIN_FLOAT32, N);
    raytrain_checkpoint *ck;

    if (from) {
        CUDA(cudaMemset(whole, 0xff, N * sizeof *whole));
        IS(raytrain_checkpoint_get(from, "whole", &t) == 0);
        look(whole, N, 0, 1);
        CUDA(cudaMemset(whole, 0xff, N * sizeof *whole));
        IS(raytrain_checkpoint_get_shard(from, "parts", &part, &slab) == 0);
        IS(raytrain_checkpoint_get(from, "parts", &t) == 0);
        look(whole, N, 0, 1);
    }
    ck = raytrain_checkpoint_create(ctx);
    IS(raytrain_checkpoint_put(ck, "whole", &t) == 0);
    IS(raytrain_checkpoint_put_shard(ck, "parts", &part, &slab) == 0);
    IS(raytrain_report(ctx, NULL, 0, ck) == 0);
    /* From now on it may change. */
    CUDA(cudaMemset(whole, 0, N * sizeof *whole));
    IS(raytrain_checkpoint_wait(ctx) == 0);
    CUDA(cudaFree(whole));
    return 0;
}

#define REPORTS 3

static int overlap(void)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);
    float *p = numbers(N, 0), *values[REPORTS];
    raytrain_tensor t = tensor(p, RAYTRAIN_FLOAT32, N);

    if (from) {
        IS(raytrain_checkpoint_get(from, "changing", &t) == 0);
        look(p, N, REPORTS - 1, 1);
    }
    for (int i = 0; i < REPORTS; i++)
        values[i] = numbers(N, i);
    for (int i = 0; i < REPORTS; i++) {
        raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

        IS(raytrain_checkpoint_fence(ctx) == 0);
        CUDA(cudaMemcpyAsync(p, values[i], N * sizeof *p, cudaMemcpyDeviceToDevice, 0));
        IS(raytrain_checkpoint_put(ck, "changing", &t) == 0);
        IS(raytrain_checkpoint_overlap(ck) == 0);
        IS(raytrain_report(ctx, NULL, 0, ck) == 0);
    }
    IS(raytrain_checkpoint_fence(ctx) == 0);
    CUDA(cudaMemsetAsync(p, 0xff, N * sizeof *p, 0));
    IS(raytrain_checkpoint_wait(ctx) == 0);
    for (int i = 0; i < REPORTS; i++)
        CUDA(cudaFree(values[i]));
    CUDA(cudaFree(p));
    return 0;
}

/* ---- Datasets ---- */

#define ROWS 10000

static int batches(void)
{
    raytrain_dataset *ds = raytrain_get_dataset_shard(ctx, "train");
    double sum = 0;
    uint64_t rows;
    int rc;

    IS(ds && raytrain_dataset_set_batch_size(ds, 100 * (uint64_t)size) == 0);
    IS(raytrain_dataset_to_device(ds, RAYTRAIN_CUDA, device) == 0);
    while ((rc = raytrain_dataset_next(ds, &rows)) == RAYTRAIN_OK) {
        int64_t host[ROWS];
        raytrain_tensor x;

        IS(rows <= ROWS && raytrain_dataset_column(ds, "x", &x) == 0);
        IS(x.device == RAYTRAIN_CUDA && x.device_id == device);
        IS(x.dtype == RAYTRAIN_INT64);
        CUDA(cudaMemcpy(host, x.data, rows * sizeof *host, cudaMemcpyDeviceToHost));
        for (uint64_t i = 0; i < rows; i++)
            sum += (double)host[i];
    }
    IS(rc == RAYTRAIN_END);
    IS(raytrain_allreduce(ctx, &sum, 1, RAYTRAIN_FLOAT64, RAYTRAIN_SUM) == 0);
    IS(sum == ROWS * (ROWS - 1) / 2.0);
    return 0;
}

/* ---- Collectives ---- */

/* The patterns of 1, 2, 3, ... as 16-bit floats. */
static uint16_t half(int n, raytrain_dtype dtype)
{
    float f = (float)n;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if (n == 0)
        return 0;
    return dtype == RAYTRAIN_BFLOAT16
               ? (uint16_t)(bits >> 16)
               : (uint16_t)((((bits >> 23) - 127 + 15) << 10) | ((bits >> 13) & 0x3ff));
}

static void sum_of_halves(raytrain_dtype dtype)
{
    uint16_t *host = malloc(1000 * sizeof *host), *p;
    raytrain_tensor t;

    IS(host != NULL);
    for (int i = 0; i < 1000; i++)
        host[i] = half(i % 7 + rank, dtype);
    p = on_device(host, 1000 * sizeof *host);
    t = tensor(p, dtype, 1000);
    IS(raytrain_allreduce_tensor(ctx, &t, RAYTRAIN_SUM) == 0);
    CUDA(cudaMemcpy(host, p, 1000 * sizeof *host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++)
        IS(host[i] == half(size * (i % 7) + size * (size - 1) / 2, dtype));
    CUDA(cudaFree(p));
    free(host);
}

static int collect(void)
{
    float *p = numbers(N, rank), *all = numbers((size_t)size * 4, 0);
    raytrain_tensor t = tensor(p, RAYTRAIN_FLOAT32, N),
                    few = tensor(p, RAYTRAIN_FLOAT32, 4);
    raytrain_tensor gathered = tensor(all, RAYTRAIN_FLOAT32, (uint64_t)size * 4);
    float host[4];

    IS(raytrain_allgather_tensor(ctx, &few, &gathered) == 0);
    for (int r = 0; r < size; r++) {
        CUDA(cudaMemcpy(host, all + r * 4, sizeof host, cudaMemcpyDeviceToHost));
        IS(host[0] == r && host[3] == r + 3);
    }
    IS(raytrain_allreduce_tensor(ctx, &t, RAYTRAIN_SUM) == 0);
    look(p, N, size * (size - 1) / 2.0, size);
    IS(raytrain_allreduce_tensor(ctx, &t, RAYTRAIN_MEAN) == 0);
    look(p, N, size * (size - 1) / 2.0, size);
    if (rank != size - 1)
        CUDA(cudaMemset(p, 0, N * sizeof *p));
    IS(raytrain_broadcast_tensor(ctx, &t, size - 1) == 0);
    look(p, N, size * (size - 1) / 2.0, size);
    sum_of_halves(RAYTRAIN_FLOAT16);
    sum_of_halves(RAYTRAIN_BFLOAT16);
    CUDA(cudaFree(p));
    CUDA(cudaFree(all));
    return 0;
}

/* ---- Gradients ---- */

#define GRADS 5

static int reduce(void)
{
    raytrain_tensor grads[GRADS], params[GRADS];
    raytrain_reducer *reducer;
    float *values = numbers(N, 2 * rank);

    for (int i = 0; i < GRADS; i++)
        grads[i] = params[i] = tensor(NULL, RAYTRAIN_FLOAT32, i == 0 ? N : 1000 + i);
    IS(raytrain_reducer_create_sharded(ctx, grads, GRADS, params, GRADS, 0, &reducer) ==
       0);
    for (int step = 0; step < 10; step++) {
        for (int i = GRADS - 1; i >= 0; i--) {
            CUDA(cudaMemcpyAsync(raytrain_reducer_data(reducer, i), values,
                                 grads[i].shape[0] * sizeof *values,
                                 cudaMemcpyDeviceToDevice, 0));
            IS(raytrain_reducer_ready(reducer, i) == 0);
        }
        IS(raytrain_reducer_wait(reducer) == 0);
        for (int i = 0; i < GRADS; i++) {
            size_t first, n;

            /* The parameters become the means. */
            IS(raytrain_reducer_shard(reducer, i, NULL, &first, &n) == 0);
            CUDA(cudaMemcpyAsync((float *)raytrain_reducer_param(reducer, i) + first,
                                 (float *)raytrain_reducer_data(reducer, i) + first,
                                 n * sizeof *values, cudaMemcpyDeviceToDevice, 0));
        }
        IS(raytrain_reducer_gather(reducer) == 0);
        for (int i = 0; i < GRADS; i++)
            look(raytrain_reducer_param(reducer, i), grads[i].shape[0], size - 1, 1);
    }
    raytrain_reducer_destroy(reducer);
    CUDA(cudaFree(values));
    return 0;
}

/* ---- Errors ---- */

static void refused(raytrain_tensor t)
{
    raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

    IS(raytrain_checkpoint_put(ck, "wrong", &t) == RAYTRAIN_EINVAL);
    raytrain_checkpoint_discard(ck);
}

static int wrong(void)
{
    float host[4] = {0}, *p = numbers(4, 0), *pinned;
    raytrain_tensor t = tensor(host, RAYTRAIN_FLOAT32, 4);
    int n;

    refused(t);
    CUDA(cudaMallocHost((void **)&pinned, sizeof host));
    t.data = pinned;
    refused(t);
    CUDA(cudaFreeHost(pinned));
    t.data = p;
    t.shape[0] = (uint64_t)1 << 40; /* its last byte is elsewhere */
    refused(t);
    t.shape[0] = 4;
    t.device_id = 1000;
    refused(t);
    CUDA(cudaGetDeviceCount(&n));
    t.device_id = (device + 1) % n;
    if (n > 1)
        refused(t);
    CUDA(cudaFree(p));
    t.device_id = device;
    refused(t);
    IS(cudaGetLastError() == cudaSuccess);
    return 0;
}

int train_func(raytrain_context *context)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {{"state", state},     {"overlap", overlap}, {"batches", batches},
                 {"collect", collect}, {"reduce", reduce},   {"wrong", wrong}};
    char **argv;
    int n;

    ctx = context;
    rank = raytrain_rank(ctx);
    size = raytrain_world_size(ctx);
    IS(raytrain_args(ctx, &argv) == 1);
    CUDA(cudaGetDeviceCount(&n));
    device = raytrain_local_rank(ctx) % n;
    CUDA(cudaSetDevice(device));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(modes[i].name, argv[0]) == 0)
            return modes[i].run();
    IS(!"the mode is one of these");
    return 1;
}
