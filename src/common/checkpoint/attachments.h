/*
 * attachments.h - opaque bytes, such as the contents of files, that single ranks attach
 * to a checkpoint. In the file an attachment is a tensor of bytes below ATTACHED. Until
 * the checkpoint is saved, only the rank that has the bytes knows about it. Then the
 * attachments of all ranks are added to the list of tensors on every rank, each as one
 * slab of the rank that has the bytes.
 */
#ifndef RAYTRAIN_CHECKPOINT_ATTACHMENTS_H
#define RAYTRAIN_CHECKPOINT_ATTACHMENTS_H

#include <stdio.h>

#include "checkpoint/checkpoint_impl.h"

/* The size of the records that describe this rank's attachments to the others. */
uint64_t attachments_bytes(const raytrain_checkpoint *ck);
int attachments_render(const raytrain_checkpoint *ck, int rank, FILE *out);
/*
 * COLLECTIVE. Rank 0 has the records of all ranks in *records, which this allocates on
 * the others: add an entry for each. RAYTRAIN_EINVAL names two ranks that attach the
 * same name.
 */
int attachments_merge(raytrain_checkpoint *ck, struct comm *comm, void **records,
                      uint64_t n, struct error *err);

#endif
