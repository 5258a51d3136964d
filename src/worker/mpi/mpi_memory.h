/*
 * mpi_memory.h - the memory that a communicator gives (comm_ops.alloc): shared by all
 * ranks if they are on one node, else private to each rank; always in a file that other
 * processes can map.
 */
#ifndef RAYTRAIN_MPI_MPI_MEMORY_H
#define RAYTRAIN_MPI_MPI_MEMORY_H

#include "comm/comm.h"
#include "mpi/shared_allreduce.h"

/* A list, newest first; NULL if it is empty. */
struct mpi_memory;

/* COLLECTIVE over c, with the same n_bytes: add memory to the list. It is shared on
 * every rank, or on none. */
int mpi_memory_add(struct mpi_memory **list, struct comm *c, enum comm_place place,
                   size_t n_bytes, void **data, struct error *err);
/* The reducer of the shared memory that contains all of buf; NULL: there is none. */
struct shared_reducer *mpi_memory_shared(const struct mpi_memory *list, const void *buf,
                                         size_t n_bytes);
/* The file that has the byte at `data`, and its offset. The list owns the
 * descriptor. */
int mpi_memory_file(const struct mpi_memory *list, const void *data,
                    struct comm_file *file, struct error *err);
void mpi_memory_free(struct mpi_memory *list);

#endif
