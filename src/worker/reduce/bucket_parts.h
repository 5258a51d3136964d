/*
 * bucket_parts.h - which elements of a bucket, and of its tensors, belong to which
 * rank: the arithmetic of weight-update sharding. Each rank has a part of about the
 * same size; parts are in the order of the ranks, and begin at rows of the tensors, so
 * that the part of a tensor is a slab of it.
 */
#ifndef RAYTRAIN_REDUCE_BUCKET_PARTS_H
#define RAYTRAIN_REDUCE_BUCKET_PARTS_H

#include <raytrain.h>
#include <stddef.h>

/* A bucket that is cut into parts: tensor i is at element offsets[i], and they
 * fill it. */
struct parted_bucket {
    const raytrain_tensor *tensors;
    const size_t *offsets;
    size_t n, elements;
};

/* The elements of one row of the first dimension, which is never divided. A tensor
 * without dimensions is one row. */
size_t bucket_parts_row(const raytrain_tensor *t);

/* cuts[0..size]: rank r's part is elements [cuts[r], cuts[r + 1]). */
void bucket_parts_cut(const struct parted_bucket *b, int size, size_t cuts[]);

/* The place of cut k of the bucket in its tensor i: 0 to the number of its elements. */
size_t bucket_parts_cut_in(const struct parted_bucket *b, const size_t cuts[], int k,
                           size_t i);

#endif
