/*
 * mpi_comm.h - what the MPI backend offers to those who speak MPI. The only header of
 * the house, beside raytrain_mpi.h, that includes the system's mpi.h.
 */
#ifndef RAYTRAIN_MPI_MPI_COMM_H
#define RAYTRAIN_MPI_MPI_COMM_H

#include <mpi.h>

#include "backend/backend.h"

/*
 * The communicator that is the training function's own: all workers, in rank order; the
 * library never communicates on it. It belongs to the backend. RAYTRAIN_ENOTSUP, and
 * MPI_COMM_NULL, where b is not the MPI backend.
 */
int backend_mpi_user_comm(const struct backend *b, MPI_Comm *comm, struct error *err);

/* A communicator of the library over `handle`, which it takes over and frees (also on
 * failure), on a rank of this node. Errors of MPI on it are returned, not fatal.
 * mpi_comm.c. */
struct comm *mpi_comm_create(MPI_Comm handle, int node_rank, struct error *err);

/* Fill err from an MPI error code: "what: MPI's own sentence". RAYTRAIN_ECOMM, -1. */
int mpi_fail(struct error *err, const char *what, int code);

#endif
