/*
 * allreduce.c - compare raytrain_allreduce() with the blocking MPI_Allreduce in the same
 * workers. Arguments: sizes in bytes. Rank 0 prints "BYTES OURS THEIRS" in microseconds.
 */
#include <raytrain_mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ours(raytrain_context *ctx, float *data, size_t n)
{
    return raytrain_allreduce(ctx, data, n, RAYTRAIN_FLOAT32, RAYTRAIN_SUM);
}

static int theirs(raytrain_context *ctx, float *data, size_t n)
{
    MPI_Comm comm;

    return raytrain_mpi_comm(ctx, &comm) ||
           MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, comm);
}

typedef int allreduce(raytrain_context *, float *, size_t);

/* Microseconds a call, over `calls` in a row; negative when one fails. */
static double measure(raytrain_context *ctx, allreduce *function, float *data, size_t n,
                      int calls)
{
    double start;

    if (raytrain_barrier(ctx))
        return -1;
    start = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        if (function(ctx, data, n))
            return -1;
    return (MPI_Wtime() - start) / calls * 1e6;
}

/* A stretch of calls each, in turns, four times; the first one warms up. */
static int compare(raytrain_context *ctx, float *data, size_t bytes)
{
    size_t n = bytes / sizeof *data;
    double sums[2] = {0};
    int calls = 0;

    for (int turn = 0; turn < 4; turn++) {
        double a = measure(ctx, ours, data, n, calls ? calls : 2);
        double b = measure(ctx, theirs, data, n, calls ? calls : 2);

        if (a < 0 || b < 0)
            return 1;
        if (turn == 0) { /* about 20 ms a stretch, the same number on all ranks */
            double slower = a > b ? a : b;

            if (raytrain_allreduce(ctx, &slower, 1, RAYTRAIN_FLOAT64, RAYTRAIN_MAX))
                return 1;
            calls = slower > 10000 ? 2 : slower < 20 ? 1000 : 20000 / slower;
        } else {
            sums[0] += a / 3;
            sums[1] += b / 3;
        }
    }
    if (raytrain_rank(ctx) == 0)
        printf("%zu %.3f %.3f\n", bytes, sums[0], sums[1]);
    return 0;
}

int train_func(raytrain_context *ctx)
{
    char **argv;
    int argc = raytrain_args(ctx, &argv), rc = 0;

    for (int i = 0; i < argc && rc == 0; i++) {
        size_t bytes = strtoul(argv[i], NULL, 10);
        float *data = calloc(1, bytes);

        rc = data ? compare(ctx, data, bytes) : 1;
        free(data);
    }
    if (rc)
        fprintf(stderr, "allreduce: %s\n", raytrain_last_error(ctx));
    return rc;
}
