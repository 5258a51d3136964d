/*
 * mpi_error.h - errors of MPI: those returned by the library's own calls, and those of
 * calls that the training function makes.
 *
 * MPI's default is to abort, which leaves no record and loses the checkpoint that is
 * being saved. Here every call returns its error. Since a training function may rely on
 * the default and not check return codes, the first error is kept, and the training
 * function's next call of raytrain fails with it. MPI raises an error that belongs to
 * no communicator on MPI_COMM_WORLD or MPI_COMM_SELF.
 */
#ifndef RAYTRAIN_MPI_MPI_ERROR_H
#define RAYTRAIN_MPI_MPI_ERROR_H

#include "util/error.h"

/* Fill err from an MPI error code, as "WHAT: MPI's message". RAYTRAIN_ECOMM, -1. */
int mpi_fail(struct error *err, const char *what, int code);

/* Keep the first error of the process from now on. Call it before a communicator is
 * made, since communicators inherit the handler. Returns MPI's error code. */
int mpi_errors_keep(void);
/* -1 and the first error if a call has failed since then, else 0. In any thread. */
int mpi_errors_first(struct error *err);

#endif
