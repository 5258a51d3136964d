/* mpi_backend.h - the MPI communicator for training functions that use MPI. */
#ifndef RAYTRAIN_BACKEND_MPI_BACKEND_H
#define RAYTRAIN_BACKEND_MPI_BACKEND_H

#include "backend/backend.h"
#include "mpi/mpi_comm.h"

/*
 * The communicator for the training function: all workers, in rank order; the library
 * does not communicate on it. The backend owns it. RAYTRAIN_ENOTSUP, and MPI_COMM_NULL,
 * if b is not the MPI backend.
 */
int backend_mpi_user_comm(const struct backend *b, MPI_Comm *comm, struct error *err);

#endif
