/*
 * gradients.h - the lists of gradients and parameters from which a reducer is created:
 * are they valid, and are they the same on every rank?
 */
#ifndef RAYTRAIN_REDUCE_GRADIENTS_H
#define RAYTRAIN_REDUCE_GRADIENTS_H

#include "session/session.h"

struct gradients {
    const char *call; /* which call creates it */
    const raytrain_tensor *list;
    size_t n, bucket_bytes;
    const raytrain_tensor *params; /* of the first n_params gradients */
    size_t n_params;
};

/* Of a checked tensor. */
size_t gradient_elements(const raytrain_tensor *t);
size_t gradient_bytes(const raytrain_tensor *t);

/* Their types have means, and their sizes can be counted in memory, also as float32;
 * parameters have the shapes of their gradients; all of them are in host memory, or in memory
 * of one GPU, as they say. */
int gradients_check(const struct gradients *g, struct error *err);

/* COLLECTIVE. Do all ranks create a reducer of the same types, shapes and size of
 * buckets, in the same kind of memory, with memory of the reducer for the same tensors? Nothing needs to be
 * valid yet. */
int gradients_match(raytrain_context *ctx, const struct gradients *g,
                    struct error *err);

#endif
