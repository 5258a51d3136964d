/*
 * rank_contents.h - before a checkpoint is written, the ranks agree on its contents.
 *
 * Every rank sends rank 0 its offer: a checksum of its list of tensors, its slabs of
 * the sharded ones, and the names of its attachments. If a checksum differs from that
 * of rank 0, that rank sends the list itself, so that the message can name the tensor.
 */
#ifndef RAYTRAIN_CHECKPOINT_RANK_CONTENTS_H
#define RAYTRAIN_CHECKPOINT_RANK_CONTENTS_H

#include "checkpoint/checkpoint_impl.h"

/* What rank 0 has received; empty on the others. */
struct offers {
    int size; /* ranks */
    char *data;
    size_t *at; /* where the offer of each rank begins in data */
};

/* COLLECTIVE: gather the offers. On success all ranks have the same list of tensors, to
 * which the attachments of each rank have been added. */
int offers_gather(raytrain_checkpoint *ck, struct comm *comm, struct offers *offers,
                  struct error *err);
/* Rank 0: the slab that a rank puts of the nth sharded tensor, without attachments. */
void offers_slab(const struct offers *offers, int rank, size_t nth,
                 raytrain_slab *slab);
void offers_clear(struct offers *offers);
/* A checksum of the contents of all strings. They are replicated: it must be the same on
 * all ranks. */
uint64_t offers_strings_hash(const raytrain_checkpoint *ck);

#endif
