/*
 * tiers_impl.h - what tiers.c and tiers_restore.c share. The latter deals with what an
 * earlier attempt has left.
 */
#ifndef RAYTRAIN_SAVING_TIERS_IMPL_H
#define RAYTRAIN_SAVING_TIERS_IMPL_H

#include <pthread.h>

#include "replica/image_tier.h"
#include "saving/background.h"
#include "saving/save_target.h"
#include "saving/tiers.h"

struct tiers {
    struct save_target target;
    char *staging_path;
    bool leader; /* of this node's ranks */
    struct node_map nodes;
    struct image_tier memory, staged; /* dir.path NULL: not configured */
    const struct image_tier *last;    /* flushes are made from this one */

    /* The same on every rank. Used by the saving thread, and before that by the start.
     */
    bool under_way;                  /* there has been a checkpoint in this run */
    bool memory_noted, staged_noted; /* the user was warned that it is skipped */
    int64_t spare;                   /* the newest not used since storage has it */
    int64_t unused; /* the newest that is unusable, and stays; -1: none */

    struct comm *flush_comm; /* the flusher's */
    struct background *flusher;
    pthread_mutex_t lock; /* guards what follows */
    int rc;               /* of the flushes; once one has failed, the rest stay */
    struct error err;
    int64_t newest;  /* complete in memory on all nodes */
    int64_t flushed; /* on storage */
};

static inline bool tiers_has(const struct image_tier *tier)
{
    return tier->dir.path != NULL;
}

/* Remove from memory what is older than storage's newest, or than the newest in memory.
 */
void tiers_release(struct tiers *t);

/* Flush it in the background, after those before it. */
int tiers_flush_later(struct tiers *t, int64_t iteration, struct error *err);
/* COLLECTIVE, now: image_flush() to the run directory. */
int tiers_flush(struct tiers *t, struct comm *comm, const struct image_tier *tier,
                int64_t iteration, struct error *err);

#endif
