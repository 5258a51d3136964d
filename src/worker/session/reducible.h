/*
 * reducible.h - the element types that ranks can combine, and the types in which they
 * do.
 */
#ifndef RAYTRAIN_SESSION_REDUCIBLE_H
#define RAYTRAIN_SESSION_REDUCIBLE_H

#include <raytrain.h>
#include <stdbool.h>

#include "comm/comm.h"

/* 16-bit floats are combined as float32: widen is exact, narrow rounds. Both are NULL
 * for types that are combined as they are. */
struct reducible {
    raytrain_dtype dtype;
    enum comm_type type;
    bool has_mean;
    void (*widen)(float *restrict to, const uint16_t *restrict from, size_t n);
    void (*narrow)(uint16_t *restrict to, const float *restrict from, size_t n);
};

/* NULL: elements of this type are not combined. */
const struct reducible *reducible_find(raytrain_dtype dtype);

#endif
