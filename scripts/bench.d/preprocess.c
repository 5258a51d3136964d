/*
 * preprocess.c - read one epoch of the dataset "train" as batches. Rank 0 prints the
 * milliseconds until all ranks have.
 */
#include <raytrain.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    raytrain_dataset *ds;
    double start = now();
    uint64_t rows;
    int rc;

    ds = raytrain_get_dataset_shard(ctx, "train");
    if (!ds || raytrain_dataset_set_batch_size(ds, 16384))
        return 1;
    while ((rc = raytrain_dataset_next(ds, &rows)) == RAYTRAIN_OK)
        continue;
    if (rc != RAYTRAIN_END || raytrain_barrier(ctx))
        return 1;
    if (raytrain_rank(ctx) == 0)
        printf("%.3f\n", now() - start);
    return 0;
}
