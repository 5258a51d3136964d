/*
 * raytrain_mpi.h - the calls that involve MPI. Include it after mpi.h, or instead of
 * mpi.h: then a C++ program does not use the C++ bindings of MPI, which need another
 * library.
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
 * A communicator over all workers, in the order of raytrain_rank(), for the training
 * function alone: the library never communicates on it. MPI is initialised with
 * MPI_THREAD_MULTIPLE. Owned by ctx: do not free it, and do not call MPI_Finalize.
 * RAYTRAIN_ENOTSUP if the backend is not MPI; *comm is MPI_COMM_NULL then.
 *
 * MPI errors do not abort: the MPI call returns them. The first error on this
 * communicator, its duplicates or MPI_COMM_WORLD is recorded, and this worker's next
 * collective call of raytrain fails with it, so a training function need not check the
 * return codes of MPI. If it checks them and can continue after an error, it sets
 * MPI_ERRORS_RETURN.
 */
RAYTRAIN_API int raytrain_mpi_comm(raytrain_context *ctx, MPI_Comm *comm);
/* The same communicator as an integer of Fortran's MPI. */
RAYTRAIN_API int raytrain_mpi_comm_f(raytrain_context *ctx, MPI_Fint *comm);

#ifdef __cplusplus
}
#endif

#endif /* RAYTRAIN_MPI_H */
