/*
 * slab.h - slabs, which are boxes in a row-major tensor: their bytes, where these lie
 * in the tensor, and whether the slabs of all ranks cover it exactly once. Pure.
 */
#ifndef RAYTRAIN_CHECKPOINT_SLAB_H
#define RAYTRAIN_CHECKPOINT_SLAB_H

#include <stdint.h>

#include "util/error.h"

/* Bytes of a dense tensor; -1 if they do not fit 63 bits, or ndim is out of range. */
int slab_tensor_bytes(int ndim, const uint64_t *shape, uint64_t element_bytes,
                      uint64_t *bytes);
/* Is it within the shape? RAYTRAIN_EINVAL names the axis along which it is not. */
int slab_check(int ndim, const uint64_t *shape, const raytrain_slab *slab,
               struct error *err);
bool slab_is_empty(int ndim, const raytrain_slab *slab);
/* The whole of a tensor as a slab. */
void slab_whole(int ndim, const uint64_t *shape, raytrain_slab *slab);

/*
 * The stream of a slab: its bytes in row-major order, as they lie densely in the memory
 * of its owner. It consists of segments of equal length, each contiguous in the tensor.
 */
struct slab_stream {
    uint64_t bytes;         /* of the whole stream */
    uint64_t segment_bytes; /* of each segment */
    uint64_t base;          /* where the first segment begins in the tensor */
    int n_outer;            /* axes outside a segment, outermost first */
    uint64_t count[RAYTRAIN_MAX_DIMS];
    uint64_t stride[RAYTRAIN_MAX_DIMS]; /* bytes */
};

/* The slab must have passed slab_check(), and the tensor slab_tensor_bytes(). */
void slab_stream_init(struct slab_stream *stream, int ndim, const uint64_t *shape,
                      uint64_t element_bytes, const raytrain_slab *slab);
/* Where byte `position` (< bytes) of the stream lies in the tensor, and how many bytes
 * from there on are contiguous. */
uint64_t slab_stream_at(const struct slab_stream *stream, uint64_t position,
                        uint64_t *left);
/* The first position of the stream that lies at byte `offset` of the tensor or later;
 * stream->bytes if there is none. */
uint64_t slab_stream_find(const struct slab_stream *stream, uint64_t offset);

/* Copy bytes [from, to) of a stream, dense at `bytes`, to their places in a tensor of which
 * `tensor` is byte `first`. */
void slab_stream_scatter(const struct slab_stream *stream, uint64_t from, uint64_t to,
                         const void *bytes, void *tensor, uint64_t first);

/*
 * Cut a slab, which is not empty, into boxes of at most `most` bytes, or of one element, in
 * the order of its stream: each is a run of the stream.
 */
struct slab_cut {
    const raytrain_slab *slab;
    int ndim;
    uint64_t element_bytes;
    int axis;      /* along which it is cut: inner axes are whole, outer ones single */
    uint64_t step; /* elements along it */
    uint64_t at[RAYTRAIN_MAX_DIMS]; /* the next box, from slab->start on */
    bool over;
};
/* The slab must have passed slab_check(), and stay until the end. */
void slab_cut_init(struct slab_cut *cut, int ndim, uint64_t element_bytes,
                   const raytrain_slab *slab, uint64_t most);
/* The next box and its bytes; false: there is none. */
bool slab_cut_next(struct slab_cut *cut, raytrain_slab *box, uint64_t *bytes);

/* How many threads should read this number of bytes. */
int slab_readers(uint64_t bytes);

/* What two boxes have in common; false: nothing. */
bool slab_common(int ndim, const raytrain_slab *a, const raytrain_slab *b,
                 raytrain_slab *both);

/* The same box? */
bool slab_equal(int ndim, const raytrain_slab *a, const raytrain_slab *b);

/* One of the slabs that together should make up a tensor. */
struct rank_slab {
    int rank; /* its owner, for the message */
    raytrain_slab slab;
};

/* For qsort_r, with a pointer to ndim: equal slabs come together, the lowest rank first.
 */
int slab_order(const void *a, const void *b, void *ndim);

/*
 * Do the slabs (none of them empty, each within the shape) cover the tensor exactly
 * once? Reorders them. RAYTRAIN_EINVAL names the tensor, and the two ranks that overlap
 * or how much is missing.
 */
int slab_cover(const char *name, int ndim, const uint64_t *shape,
               struct rank_slab *slabs, size_t n, struct error *err);

#endif
