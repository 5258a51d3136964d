/* mpi_backend.h - what the MPI backend offers to callers that speak MPI. */
#ifndef RAYTRAIN_BACKEND_MPI_BACKEND_H
#define RAYTRAIN_BACKEND_MPI_BACKEND_H

#include "backend/backend.h"
#include "mpi/mpi_comm.h"

/*
 * The communicator that is the training function's own: all workers, in rank order; the
 * library never communicates on it. It belongs to the backend. RAYTRAIN_ENOTSUP, and
 * MPI_COMM_NULL, if b is not the MPI backend.
 */
int backend_mpi_user_comm(const struct backend *b, MPI_Comm *comm, struct error *err);

#endif
