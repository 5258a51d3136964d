/*
 * collective_calls.h - how ranks agree on a collective call for which this rank has GPU
 * memory.
 *
 * COLLECTIVE over at least two ranks, instead of the call of raytrain.h. They check its
 * arguments as that does: -1, with the error in the context. *devices: all ranks make
 * this call with GPU memory; no data have been exchanged yet. Else all of them make the
 * call of raytrain.h with host memory.
 */
#ifndef RAYTRAIN_SESSION_COLLECTIVE_CALLS_H
#define RAYTRAIN_SESSION_COLLECTIVE_CALLS_H

#include "session/session.h"

int session_allreduce_match(raytrain_context *ctx, size_t n, raytrain_dtype dtype,
                            raytrain_op op, bool *devices);
int session_broadcast_match(raytrain_context *ctx, size_t n_bytes, int root,
                            bool *devices);
int session_allgather_match(raytrain_context *ctx, size_t n_bytes, bool *devices);

#endif
