/*
 * report.c - train_func(latency CALLS | million REPORTS): reports of ten metrics, which
 * differ between the ranks. latency: rank 0 prints the microseconds of raytrain_report(),
 * and of a bare MPI_Allreduce of the same size. million: those of the last and the first
 * 1,000 reports.
 */
#include <raytrain_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRICS 10

static int reports(raytrain_context *ctx, long n, double *us)
{
    static const char *const names[METRICS] = {"a", "b", "c", "d", "e",
                                               "f", "g", "h", "i", "j"};
    raytrain_metric metrics[METRICS];
    double start = MPI_Wtime();
    int rank = raytrain_rank(ctx);

    for (long i = 0; i < n; i++) {
        for (int k = 0; k < METRICS; k++)
            metrics[k] = (raytrain_metric){names[k], (double)i / (k + 3) + rank};
        if (raytrain_report(ctx, metrics, METRICS, NULL))
            return 1;
    }
    *us = (MPI_Wtime() - start) / (double)n * 1e6;
    return 0;
}

static int allreduces(raytrain_context *ctx, long n, double *us)
{
    double values[3 * METRICS] = {1}, start;
    MPI_Comm comm;

    if (raytrain_mpi_comm(ctx, &comm))
        return 1;
    start = MPI_Wtime();
    for (long i = 0; i < n; i++)
        if (MPI_Allreduce(MPI_IN_PLACE, values, 3 * METRICS, MPI_DOUBLE, MPI_MAX, comm))
            return 1;
    *us = (MPI_Wtime() - start) / (double)n * 1e6;
    return 0;
}

int train_func(raytrain_context *ctx)
{
    char **argv;
    int argc = raytrain_args(ctx, &argv), rc;
    long n = argc > 1 ? atol(argv[1]) : 1000;
    double ours, theirs, warm;

    rc = reports(ctx, 1000, &warm) || allreduces(ctx, 1000, &theirs);
    if (rc == 0 && argc > 0 && strcmp(argv[0], "million") == 0)
        rc = reports(ctx, 1000, &theirs) || reports(ctx, n - 3000, &warm) ||
             reports(ctx, 1000, &ours);
    else if (rc == 0)
        rc = reports(ctx, n, &ours) || allreduces(ctx, n, &theirs);
    if (rc == 0 && raytrain_rank(ctx) == 0)
        printf("%.3f %.3f\n", ours, theirs);
    return rc;
}
