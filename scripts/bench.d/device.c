/*
 * device.c - a training function that compares what raytrain does with memory on a GPU with
 * the same by CUDA and NCCL directly, in turns. Arguments: ROW BYTES TURNS. Linked with the
 * CUDA runtime and NCCL.
 *
 *   device-stall      a report with a checkpoint of BYTES on the GPU | cudaMemcpyAsync() of
 *                     them to pinned memory, and waiting for that
 *   device-give       a report with BYTES that are handed over | nothing
 *   device-restore    open a checkpoint, which verifies it, and get BYTES to the GPU | read()
 *                     the file in pieces, and cudaMemcpy() these
 *   device-allreduce  a sum of BYTES over all workers, each on its GPU | ncclAllReduce()
 *
 * Rank 0 prints "ROW OURS THEIRS" for each turn except for the first one: milliseconds, or
 * microseconds of the allreduce.
 */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <nccl.h>
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE     ((size_t)64 << 20)
#define REPEATED  100 /* allreduces in a turn */
#define N_ROWS    (sizeof rows / sizeof rows[0])
#define CUDA(...) must((__VA_ARGS__) != cudaSuccess, #__VA_ARGS__)
#define NCCL(...) must((__VA_ARGS__) != ncclSuccess, #__VA_ARGS__)
#define OURS(...) must((__VA_ARGS__) != RAYTRAIN_OK, #__VA_ARGS__)

int train_func(raytrain_context *ctx);

struct bench {
    raytrain_context *ctx;
    size_t bytes;
    char *data, *piece; /* on the GPU; pinned */
    void *pinned;
    ncclComm_t nccl;
};

static void must(int failed, const char *call)
{
    if (!failed)
        return;
    fprintf(stderr, "device: failed: %s\n", call);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static raytrain_tensor tensor(const struct bench *b, char *data)
{
    return (raytrain_tensor){.data = data,
                             .dtype = RAYTRAIN_FLOAT32,
                             .ndim = 1,
                             .shape = {b->bytes / sizeof(float)},
                             .device = RAYTRAIN_CUDA};
}

static void given_back(void *data, void *arg)
{
    (void)data;
    (void)arg;
}

/* Milliseconds that the report takes. */
static double report(struct bench *b, int has_given)
{
    raytrain_checkpoint *ck = raytrain_checkpoint_create(b->ctx);
    raytrain_tensor t = tensor(b, b->data);
    double start;

    if (has_given)
        OURS(raytrain_checkpoint_give(ck, "data", &t, NULL, given_back, NULL));
    else
        OURS(raytrain_checkpoint_put(ck, "data", &t));
    CUDA(cudaDeviceSynchronize());
    start = now();
    OURS(raytrain_report(b->ctx, NULL, 0, ck));
    start = now() - start;
    OURS(raytrain_checkpoint_wait(b->ctx));
    return start * 1e3;
}

static void stall(struct bench *b, double *ours, double *theirs)
{
    double start;

    *ours = report(b, 0);
    start = now();
    CUDA(cudaMemcpyAsync(b->pinned, b->data, b->bytes, cudaMemcpyDeviceToHost, 0));
    CUDA(cudaDeviceSynchronize());
    *theirs = (now() - start) * 1e3;
}

static void give(struct bench *b, double *ours, double *theirs)
{
    *ours = report(b, 1);
    *theirs = 0;
}

static double plain_restore(struct bench *b, const char *path)
{
    double start = now();
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (size_t at = 0; at < b->bytes;) {
        ssize_t n = read(fd, b->piece, b->bytes - at < PIECE ? b->bytes - at : PIECE);

        must(n <= 0, "read");
        CUDA(cudaMemcpy(b->data + at, b->piece, (size_t)n, cudaMemcpyHostToDevice));
        at += (size_t)n;
    }
    close(fd);
    return (now() - start) * 1e3;
}

static void restore(struct bench *b, double *ours, double *theirs)
{
    static char path[4096];
    raytrain_tensor t = tensor(b, b->data);
    raytrain_checkpoint *ck;
    double start;

    if (!*path) {
        report(b, 0);
        snprintf(path, sizeof path, "%s/checkpoint_000001.h5",
                 raytrain_run_dir(b->ctx));
    }
    start = now();
    ck = raytrain_checkpoint_open(b->ctx, path);
    must(!ck, "raytrain_checkpoint_open");
    OURS(raytrain_checkpoint_get(ck, "data", &t));
    *ours = (now() - start) * 1e3;
    raytrain_checkpoint_close(ck);
    *theirs = plain_restore(b, path);
}

static void allreduce(struct bench *b, double *ours, double *theirs)
{
    raytrain_tensor t = tensor(b, b->data);
    double start;

    OURS(raytrain_barrier(b->ctx));
    start = now();
    for (int i = 0; i < REPEATED; i++)
        OURS(raytrain_allreduce_tensor(b->ctx, &t, RAYTRAIN_SUM));
    CUDA(cudaDeviceSynchronize());
    *ours = (now() - start) * 1e6 / REPEATED;
    OURS(raytrain_barrier(b->ctx));
    start = now();
    for (int i = 0; i < REPEATED; i++)
        NCCL(ncclAllReduce(b->data, b->data, b->bytes / sizeof(float), ncclFloat,
                           ncclSum, b->nccl, 0));
    CUDA(cudaDeviceSynchronize());
    *theirs = (now() - start) * 1e6 / REPEATED;
}

static const struct {
    const char *name;
    void (*turn)(struct bench *b, double *ours, double *theirs);
} rows[] = {{"device-stall", stall},
            {"device-give", give},
            {"device-restore", restore},
            {"device-allreduce", allreduce}};

static void set_up(struct bench *b)
{
    ncclUniqueId id;

    CUDA(cudaMalloc((void **)&b->data, b->bytes));
    CUDA(cudaMemset(b->data, 0, b->bytes));
    CUDA(cudaMallocHost((void **)&b->piece, PIECE));
    CUDA(cudaMallocHost(&b->pinned, b->bytes));
    memset(b->pinned, 1, b->bytes);
    if (raytrain_rank(b->ctx) == 0)
        NCCL(ncclGetUniqueId(&id));
    OURS(raytrain_broadcast(b->ctx, &id, sizeof id, 0));
    NCCL(ncclCommInitRank(&b->nccl, raytrain_world_size(b->ctx), id,
                          raytrain_rank(b->ctx)));
}

int train_func(raytrain_context *ctx)
{
    struct bench b = {.ctx = ctx};
    char **argv;
    int turns;

    must(raytrain_args(ctx, &argv) != 3, "ROW BYTES TURNS");
    b.bytes = strtoull(argv[1], NULL, 10);
    turns = atoi(argv[2]);
    set_up(&b);
    for (int turn = 0; turn <= turns; turn++)
        for (size_t i = 0; i < N_ROWS; i++) {
            double ours, theirs;

            if (strcmp(rows[i].name, argv[0]) != 0)
                continue;
            rows[i].turn(&b, &ours, &theirs);
            if (turn > 0 && raytrain_rank(ctx) == 0)
                printf("%s %.3f %.3f\n", argv[0], ours, theirs);
        }
    NCCL(ncclCommDestroy(b.nccl));
    return 0;
}
