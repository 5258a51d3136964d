/*
 * gradients.h - the lists of gradients and parameters from which a reducer is created:
 * are they valid, and are they the same on every rank?
 */
#ifndef RAYTRAIN_REDUCE_GRADIENTS_H
#define RAYTRAIN_REDUCE_GRADIENTS_H

#include "session/session.h"

struct gradients {
    const char *call; /* the call that creates the reducer */
    const raytrain_tensor *list;
    size_t n, bucket_bytes;
    const raytrain_tensor *params; /* of the first n_params gradients */
    size_t n_params;
};

/* The number of elements of a checked tensor. */
size_t gradient_elements(const raytrain_tensor *t);
size_t gradient_bytes(const raytrain_tensor *t);

/* Are the lists valid? Types that have means; sizes that fit in memory, also as
 * float32; parameters with the shapes of their gradients; all tensors in host memory,
 * or all in memory of one GPU. */
int gradients_check(const struct gradients *g, struct error *err);

/* COLLECTIVE. Do all ranks create a reducer with the same types, shapes, size of
 * buckets and kind of memory, and with memory of the reducer for the same tensors? The
 * lists need not be valid. */
int gradients_match(raytrain_context *ctx, const struct gradients *g,
                    struct error *err);

#endif
