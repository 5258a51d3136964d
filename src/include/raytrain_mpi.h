/*
 * raytrain_mpi.h - the few calls that speak MPI. Include after mpi.h or instead of it:
 * then a C++ program has no C++ bindings of MPI, which would need a library of their
 * own.
 */
#ifndef RAYTRAIN_MPI_H
#define RAYTRAIN_MPI_H

#ifdef __cplusplus
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#endif
#include <mpi.h>
#include <raytrain.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A communicator over all workers, rank order as raytrain_rank(), the training
 * function's own (the library never communicates on it). MPI is initialised with
 * MPI_THREAD_MULTIPLE. Owned by ctx: do not free it, and do not call MPI_Finalize.
 * RAYTRAIN_ENOTSUP where the backend is not MPI; *comm is MPI_COMM_NULL then.
 *
 * An error of MPI does not abort: it comes back from the call. The first one on this
 * communicator, its duplicates or MPI_COMM_WORLD is kept, and this worker's next
 * collective call of raytrain fails with it; so a training function need not look at
 * MPI's return codes. One that does, and can go on, sets MPI_ERRORS_RETURN.
 */
RAYTRAIN_API int raytrain_mpi_comm(raytrain_context *ctx, MPI_Comm *comm);

#ifdef __cplusplus
}
#endif

#endif /* RAYTRAIN_MPI_H */
