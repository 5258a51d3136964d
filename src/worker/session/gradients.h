/*
 * gradients.h - the list of gradients from which a reducer is created: is it valid, and
 * is it the same on every rank?
 */
#ifndef RAYTRAIN_SESSION_GRADIENTS_H
#define RAYTRAIN_SESSION_GRADIENTS_H

#include "session/session.h"

struct gradients {
    const raytrain_tensor *list;
    size_t n, bucket_bytes;
};

/* Of a checked tensor. */
size_t gradient_elements(const raytrain_tensor *t);
size_t gradient_bytes(const raytrain_tensor *t);

/* Their types have means, and their sizes can be counted in memory, also as float32. */
int gradients_check(const struct gradients *g, struct error *err);

/* COLLECTIVE. Do all ranks create a reducer of the same types, shapes and size of
 * buckets, with memory of the reducer for the same tensors? */
int gradients_match(raytrain_context *ctx, const struct gradients *g,
                    struct error *err);

#endif
