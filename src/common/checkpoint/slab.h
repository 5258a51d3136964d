/*
 * slab.h - the arithmetic of boxes in a row-major tensor: bytes, contiguous runs, and
 * whether the boxes of all ranks cover a tensor exactly once. Pure.
 */
#ifndef RAYTRAIN_CHECKPOINT_SLAB_H
#define RAYTRAIN_CHECKPOINT_SLAB_H

#include <stdint.h>

#include "util/error.h"

/* Bytes of a dense tensor; -1 if they do not fit 63 bits, or ndim is out of range. */
int slab_tensor_bytes(int ndim, const uint64_t *shape, uint64_t element_bytes,
                      uint64_t *bytes);
/* Is it within the shape? RAYTRAIN_EINVAL says along which axis it is not. */
int slab_check(int ndim, const uint64_t *shape, const raytrain_slab *slab,
               struct error *err);
bool slab_is_empty(int ndim, const raytrain_slab *slab);
/* The whole of a tensor as a slab. */
void slab_whole(int ndim, const uint64_t *shape, raytrain_slab *slab);

/*
 * A slab as a stream: its elements in row-major order, as the owner has them densely in
 * memory. The stream falls into runs of equal length that are contiguous in the tensor.
 */
struct slab_runs {
    uint64_t bytes;     /* of the whole stream */
    uint64_t run_bytes; /* of each run */
    uint64_t base;      /* of the first run, in bytes from the tensor's start */
    int n_outer;        /* axes outside of a run, outermost first */
    uint64_t count[RAYTRAIN_MAX_DIMS];
    uint64_t stride[RAYTRAIN_MAX_DIMS]; /* bytes */
};

/* slab must have passed slab_check(), and the tensor slab_tensor_bytes(). */
void slab_runs_init(struct slab_runs *runs, int ndim, const uint64_t *shape,
                    uint64_t element_bytes, const raytrain_slab *slab);
/* Where byte `position` (< bytes) of the stream lies in the tensor, and how many bytes
 * from there on are contiguous. */
uint64_t slab_runs_at(const struct slab_runs *runs, uint64_t position, uint64_t *left);
/* The first position of the stream that lies at byte `offset` of the tensor or behind
 * it; runs->bytes if there is none. */
uint64_t slab_runs_find(const struct slab_runs *runs, uint64_t offset);

/* One of the boxes that together should make up a tensor. */
struct slab_piece {
    int rank; /* whose it is, for the message */
    raytrain_slab slab;
};

/*
 * Do the pieces (none of them empty, each within the shape) cover the tensor exactly
 * once? Reorders them. RAYTRAIN_EINVAL names the tensor, and the two ranks that overlap
 * or how much is missing.
 */
int slab_cover(const char *name, int ndim, const uint64_t *shape,
               struct slab_piece *pieces, size_t n, struct error *err);

#endif
