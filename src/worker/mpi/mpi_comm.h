/*
 * mpi_comm.h - the communicator of comm/comm.h over MPI.
 */
#ifndef RAYTRAIN_MPI_MPI_COMM_H
#define RAYTRAIN_MPI_MPI_COMM_H

#include <mpi.h>

#include "comm/comm.h"

/* A communicator of the library over `handle`, on a rank of this node. It takes over
 * the handle and frees it, also on failure. Errors of MPI on it are returned, not
 * fatal. */
struct comm *mpi_comm_create(MPI_Comm handle, int node_rank, struct error *err);

#endif
