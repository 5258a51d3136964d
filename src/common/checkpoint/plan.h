/* plan.h - rank 0's plan of a checkpoint, made by all ranks. */
#ifndef RAYTRAIN_CHECKPOINT_PLAN_H
#define RAYTRAIN_CHECKPOINT_PLAN_H

#include "checkpoint/checkpoint_impl.h"

/* COLLECTIVE. Agree that all ranks put the same tensors, and that their slabs cover each
 * of these; of equal slabs one is kept. Fills *plan on rank 0. */
int plan_make(raytrain_checkpoint *ck, struct comm *comm, struct plan *plan,
              struct error *err);
/* COLLECTIVE: gather the hashes of all ranks on rank 0, in the order of the table:
 * *table is malloc'ed there. Each rank sends those of its chunks, in the order of the
 * parts. */
int plan_gather_hashes(const struct plan *plan, const raytrain_checkpoint *ck,
                       struct comm *comm, const uint64_t *hashes, size_t n_hashes,
                       uint64_t **table, struct error *err);
void plan_clear(struct plan *plan);

#endif
