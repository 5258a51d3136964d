/*
 * data.c - read the dataset "d" twice in batches of 256 rows, and print the milliseconds of
 * the second epoch, from a barrier to a barrier. With the argument "copy": also those of
 * copying as many bytes in memory, a batch at a time.
 */
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 256

int train_func(raytrain_context *ctx);

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* *bytes is what this worker got of column x. */
static int epoch_read(raytrain_context *ctx, raytrain_dataset *d, double *ms,
                      size_t *bytes)
{
    raytrain_tensor x;
    uint64_t rows;
    double start;
    int rc = raytrain_barrier(ctx);

    *bytes = 0;
    start = now_ms();
    while (rc == RAYTRAIN_OK && (rc = raytrain_dataset_next(d, &rows)) == RAYTRAIN_OK) {
        size_t n = raytrain_dtype_size(RAYTRAIN_FLOAT32);

        rc = raytrain_dataset_column(d, "x", &x);
        for (int i = 0; rc == RAYTRAIN_OK && i < x.ndim; i++)
            n *= x.shape[i];
        *bytes += n;
    }
    if (rc == RAYTRAIN_END)
        rc = raytrain_barrier(ctx);
    *ms = now_ms() - start;
    return rc;
}

static int copy(size_t bytes, size_t batch, double *ms)
{
    char *from = malloc(bytes), *to = malloc(batch);
    size_t sum = 0;
    double start;

    if (!from || !to)
        return RAYTRAIN_ENOMEM;
    memset(from, 1, bytes);
    memset(to, 2, batch);
    start = now_ms();
    for (size_t at = 0; at < bytes; at += batch) {
        memcpy(to, from + at, bytes - at < batch ? bytes - at : batch);
        sum += (size_t)to[sum % batch];
    }
    *ms = now_ms() - start;
    fprintf(stderr, "%zu\n", sum); /* so that the copies are made */
    free(from);
    free(to);
    return RAYTRAIN_OK;
}

int train_func(raytrain_context *ctx)
{
    raytrain_dataset *d = raytrain_get_dataset_shard(ctx, "d");
    double ms = 0, copy_ms = 0;
    size_t bytes = 0;
    char **argv;
    int n = raytrain_args(ctx, &argv);
    int rc = d ? raytrain_dataset_set_batch_size(d, BATCH) : RAYTRAIN_EFAILED;

    for (int epoch = 0; epoch < 2 && rc == RAYTRAIN_OK; epoch++)
        rc = epoch_read(ctx, d, &ms, &bytes);
    if (rc == RAYTRAIN_OK && n > 0 && strcmp(argv[0], "copy") == 0)
        rc = copy(bytes, BATCH * 784 * 4, &copy_ms);
    if (rc == RAYTRAIN_OK && raytrain_rank(ctx) == 0)
        printf("%.3f %.3f\n", ms, copy_ms);
    return rc;
}
