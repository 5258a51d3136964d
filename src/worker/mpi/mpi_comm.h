/*
 * mpi_comm.h - the communicator of comm/comm.h over MPI.
 */
#ifndef RAYTRAIN_MPI_MPI_COMM_H
#define RAYTRAIN_MPI_MPI_COMM_H

#include <mpi.h>

#include "comm/comm.h"

/* Make a communicator over `handle`, which it owns and frees, also on failure. MPI
 * errors on it are returned, not fatal. */
struct comm *mpi_comm_create(MPI_Comm handle, int node_rank, struct error *err);

#endif
