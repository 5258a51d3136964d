/*
 * mpi_error.c - a training function that reports a checkpoint; while that is being saved,
 * the last rank makes an MPI call that must fail.
 */
#include <stdio.h>
#include <stdlib.h>

#include <raytrain_mpi.h>

#define ROWS 4000000 /* large enough that saving takes a while */

static int report(raytrain_context *ctx)
{
    raytrain_metric metric = {"loss", 1};
    raytrain_tensor t = {
        .data = NULL, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {ROWS}};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);
    int rc;

    t.data = calloc(ROWS, sizeof(double));
    if (!t.data || !ck || raytrain_checkpoint_put(ck, "model", &t))
        return 1;
    rc = raytrain_report(ctx, &metric, 1, ck);
    free(t.data);
    return rc;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    int last = raytrain_world_size(ctx) - 1, number = 0;
    MPI_Comm comm;

    if (report(ctx) || raytrain_mpi_comm(ctx, &comm))
        return 1;
    if (raytrain_rank(ctx) == last)
        MPI_Send(&number, 1, MPI_INT, last + 1, 0, comm);
    return raytrain_barrier(ctx);
}
