/* mpi_calls.c - the calls of raytrain_mpi.h. */
#include "raytrain_mpi.h"

#include "backend/mpi_backend.h"
#include "session/session.h"

int raytrain_mpi_comm_f(raytrain_context *ctx, MPI_Fint *comm)
{
    MPI_Comm c = MPI_COMM_NULL;
    int rc;

    if (!comm)
        return session_null(ctx, __func__, "place for the communicator");
    rc = raytrain_mpi_comm(ctx, &c);
    *comm = MPI_Comm_c2f(c);
    return rc;
}

int raytrain_mpi_comm(raytrain_context *ctx, MPI_Comm *comm)
{
    if (!ctx || !comm)
        return session_null(ctx, __func__,
                            ctx ? "place for the communicator" : "context");
    return session_status(ctx,
                          backend_mpi_user_comm(ctx->env.backend, comm, &ctx->error));
}
