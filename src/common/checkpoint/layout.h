/* layout.h - the HDF5 file of a checkpoint, without the bytes of tensors. */
#ifndef RAYTRAIN_CHECKPOINT_LAYOUT_H
#define RAYTRAIN_CHECKPOINT_LAYOUT_H

#include "checkpoint/checkpoint_impl.h"

/* Rank 0: build the HDF5 file without the tensors' bytes. Fills the tensors' offsets
 * and the head (except its hashes and the completeness mark). */
int layout_make(raytrain_checkpoint *ck, const struct plan *plan,
                const struct checkpoint_meta *meta, struct file_head *head,
                struct h5_image **image, struct error *err);
/* Write the values of `meta`, which has as many metrics and a run name of the same
 * length, into an image that was laid out for other values. */
int layout_renew(struct h5_image *image, const struct file_head *head,
                 const struct checkpoint_meta *meta, struct error *err);

#endif
