/*
 * reduce.h - combining two buffers element by element: the arithmetic of an allreduce.
 *
 * Every operation yields the same bits whichever operand comes first, NaN and the two
 * zeros included: then ranks that combine the same pair agree, whoever does it.
 */
#ifndef RAYTRAIN_BACKEND_REDUCE_H
#define RAYTRAIN_BACKEND_REDUCE_H

#include "wireup/comm.h"

/* into[i] = into[i] op from[i] for i in 0..n. */
typedef void (*reduce_function)(void *restrict into, const void *restrict from,
                                size_t n);

/* NULL, and RAYTRAIN_EINVAL, where the pair does not exist. */
reduce_function reduce_find(enum comm_type type, enum comm_op op, struct error *err);

#endif
