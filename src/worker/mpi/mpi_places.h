/*
 * mpi_places.h - does the MPI library take GPU memory in its calls ("CUDA-aware")?
 */
#ifndef RAYTRAIN_MPI_MPI_PLACES_H
#define RAYTRAIN_MPI_MPI_PLACES_H

#include "comm/comm.h"

/* The library's own answer, once MPI is initialised: false for memory that it was not
 * built for, or that the user has switched off. */
bool mpi_reaches(enum comm_place place);

#endif
