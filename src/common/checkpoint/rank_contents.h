/*
 * rank_contents.h - before a checkpoint is written, the ranks agree on its contents.
 *
 * Every rank sends rank 0 its contents: a checksum of its list of tensors, its slabs of
 * the sharded ones, and the names of its attachments. If a checksum differs from that
 * of rank 0, that rank sends the list itself, so that the message can name the tensor.
 */
#ifndef RAYTRAIN_CHECKPOINT_RANK_CONTENTS_H
#define RAYTRAIN_CHECKPOINT_RANK_CONTENTS_H

#include "checkpoint/checkpoint_impl.h"

/* What rank 0 has received; empty on the others. */
struct rank_contents {
    int size; /* ranks */
    char *data;
    size_t *at; /* where those of each rank begin in data */
};

/* COLLECTIVE: gather the contents. On success all ranks have the same list of tensors,
 * to which the attachments of each rank have been added. */
int rank_contents_gather(raytrain_checkpoint *ck, struct comm *comm,
                         struct rank_contents *contents, struct error *err);
/* Rank 0: the slab that a rank puts of the nth sharded tensor, without attachments. */
void rank_contents_slab(const struct rank_contents *contents, int rank, size_t nth,
                        raytrain_slab *slab);
void rank_contents_clear(struct rank_contents *contents);
/* A checksum of the contents of all strings. They are replicated: it must be the same on
 * all ranks. */
uint64_t rank_contents_strings_hash(const raytrain_checkpoint *ck);

#endif
