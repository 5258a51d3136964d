/*
 * tiers_impl.h - what tiers.c, which saves and moves, and tiers_restore.c, which looks
 * at what was left by an earlier attempt, have in common.
 */
#ifndef RAYTRAIN_SAVING_TIERS_IMPL_H
#define RAYTRAIN_SAVING_TIERS_IMPL_H

#include <pthread.h>

#include "replica/image_tier.h"
#include "saving/flush_thread.h"
#include "saving/tiers.h"

struct tiers {
    char *run_dir, *log_dir, *staging_path;
    struct checkpoint_config config;
    bool leader; /* of this node's ranks */
    struct node_map nodes;
    struct image_tier memory, staged; /* dir.path NULL: not that one */
    const struct image_tier *last;    /* what is moved to storage is moved from here */

    /* The same on every rank; the saving thread's, and the start's before it. */
    bool under_way;                /* there has been a checkpoint in this run */
    bool memory_told, staged_told; /* the user knows that it is passed over */
    int64_t spare;  /* the newest that was left because storage has one of its name */
    int64_t unused; /* the newest that could not be used, and stays; -1: none */

    struct comm *moving; /* the mover's */
    struct mover *mover;
    pthread_mutex_t lock; /* for what follows */
    int rc;               /* of the moves; once one has failed, the rest stay */
    struct error err;
    int64_t newest; /* complete in memory on all nodes */
    int64_t moved;  /* on storage */
};

static inline bool tiers_has(const struct image_tier *tier)
{
    return tier->dir.path != NULL;
}

/* What is in memory, but older than storage's or than the newest there, goes. */
void tiers_release(struct tiers *t);

/* COLLECTIVE: image_move() to where the run has its checkpoints. */
int tiers_move(struct tiers *t, struct comm *comm, const struct image_tier *tier,
               int64_t iteration, struct error *err);

#endif
