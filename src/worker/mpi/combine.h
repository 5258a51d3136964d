/*
 * combine.h - combining two buffers element by element: the arithmetic of an allreduce.
 *
 * Every operation yields the same bits whichever operand comes first, NaN and the two
 * zeros included: then ranks that combine the same pair agree, whoever does it.
 */
#ifndef RAYTRAIN_MPI_COMBINE_H
#define RAYTRAIN_MPI_COMBINE_H

#include "comm/comm.h"

/* into[i] = into[i] op from[i] for i in 0..n. */
typedef void (*reduce_function)(void *restrict into, const void *restrict from,
                                size_t n);

/* What is done to a combination of all ranks' elements at last: a mean's share. */
typedef void (*finish_function)(void *data, size_t n, int ranks);

/* The last combination, both in one: what combine and then finish make of a and b goes
 * into a and into b. */
typedef void (*close_function)(void *restrict a, void *restrict b, size_t n, int ranks);

struct reduction_kind {
    size_t width; /* bytes of an element */
    reduce_function combine;
    finish_function finish; /* NULL: nothing is left to be done */
    close_function close;   /* NULL: combine and finish will do */
};

/* RAYTRAIN_EINVAL where the pair does not exist. */
int reduction_kind_find(enum comm_type type, enum comm_op op,
                        struct reduction_kind *kind, struct error *err);

/* A reduction under way, whoever does it: do what can be done now. Once *done, or on
 * failure, it is freed. */
struct comm_request {
    int (*advance)(struct comm_request *request, bool *done, struct error *err);
};

#endif
