/* plan_share.h - gives each rank what it needs of rank 0's plan. */
#ifndef RAYTRAIN_CHECKPOINT_PLAN_SHARE_H
#define RAYTRAIN_CHECKPOINT_PLAN_SHARE_H

#include "checkpoint/checkpoint_impl.h"

/* Ranks that need a part of another rank, in the order of the parts. */
struct part_need {
    uint64_t part;
    int rank;
};
struct part_needs {
    struct part_need *list;
    size_t n, room;
};
/* -1 without memory. */
int part_needs_add(struct part_needs *needs, uint64_t part, int rank);
void part_needs_clear(struct part_needs *needs);
/* COLLECTIVE: get the parts of rank 0's plan that this rank needs, in their order: its
 * own, all replicated ones, and those in rank 0's `needs`. *mine counts all hashes, as
 * the plan does; plan_clear() frees it. */
int plan_share(const struct plan *all, const struct part_needs *needs,
               struct comm *comm, struct plan *mine, struct error *err);

#endif
