/*
 * shared_block.h - memory that every rank of a communicator sees, where all of them run
 * on one node: one block for each rank, of the same size.
 *
 * It is an anonymous file (memfd) that rank 0 makes and the others open through
 * /proc/PID/fd. So it has no name, and nothing is left whatever dies; it is sealed, so
 * nobody can shrink what others have mapped; and all of it is granted at the start, so
 * that touching it cannot fail.
 */
#ifndef RAYTRAIN_MPI_SHARED_BLOCK_H
#define RAYTRAIN_MPI_SHARED_BLOCK_H

#include "comm/comm.h"

struct shared_block {
    char *base;    /* rank 0's block; a page's beginning */
    size_t stride; /* from a rank's block to the next one's */
    size_t n_bytes;
    int rank, size;
};

/* COLLECTIVE. Zeros, at least n_bytes for each rank (the same number on all ranks).
 * Every rank has it, or none: then -1, with the first reason on every rank. */
int shared_block_create(struct shared_block *b, struct comm *c, size_t n_bytes,
                        struct error *err);
/* Each rank for itself: what others still read stays. */
void shared_block_release(struct shared_block *b);

static inline char *shared_block_of(const struct shared_block *b, int rank)
{
    return b->base + (size_t)rank * b->stride;
}

#endif
