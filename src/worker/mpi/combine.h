/*
 * combine.h - combining two buffers element by element: the arithmetic of an allreduce.
 *
 * Every operation yields the same bits whichever operand comes first, NaN and the two
 * zeros included: ranks that combine the same pair get the same result, whichever of
 * them does it.
 */
#ifndef RAYTRAIN_MPI_COMBINE_H
#define RAYTRAIN_MPI_COMBINE_H

#include "comm/comm.h"

/* into[i] = into[i] op from[i] for i in 0..n. */
typedef void (*reduce_function)(void *restrict into, const void *restrict from,
                                size_t n);

/* Complete the result once the elements of all ranks are combined: a mean is
 * divided. */
typedef void (*finish_function)(void *data, size_t n, int ranks);

/* Combine a and b, finish, and write the result to both, in one pass. */
typedef void (*close_function)(void *restrict a, void *restrict b, size_t n, int ranks);

struct reduction_kind {
    size_t width; /* bytes of an element */
    reduce_function combine;
    finish_function finish; /* NULL: combined elements are the result */
    close_function close;   /* NULL: call combine and finish */
};

/* RAYTRAIN_EINVAL if the operation does not exist for the type. */
int reduction_kind_find(enum comm_type type, enum comm_op op,
                        struct reduction_kind *kind, struct error *err);

/* A reduction in progress, of any implementation. advance does what can be done now;
 * once *done, or on failure, the request is freed. */
struct comm_request {
    int (*advance)(struct comm_request *request, bool *done, struct error *err);
};

#endif
