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
    bool leader; /* this rank is the first on its node */
    struct node_map nodes;
    struct image_tier memory, staged; /* dir.path NULL: not configured */
    const struct image_tier *last;    /* the one that is flushed */

    /* The same on every rank. Used at the start, then by the saving thread. */
    bool under_way;                  /* there has been a checkpoint in this run */
    bool memory_noted, staged_noted; /* the user was warned that it is skipped */
    int64_t spare;                   /* the newest not used since storage has it */
    int64_t unused; /* the newest that cannot be used, and stays; -1: none */

    struct comm *flush_comm; /* the flusher's */
    struct background *flusher;
    pthread_mutex_t lock; /* guards what follows */
    int rc;               /* -1: a flush has failed, and no other is made */
    struct error err;
    int64_t newest;  /* complete in memory on all nodes */
    int64_t flushed; /* on storage */
};

static inline bool tiers_has(const struct image_tier *tier)
{
    return tier->dir.path != NULL;
}

/* Remove from memory what is older than the newest on storage, or than the newest in
 * memory. */
void tiers_release(struct tiers *t);

/* Flush it in the background, after those before it. */
int tiers_flush_later(struct tiers *t, int64_t iteration, struct error *err);
/* COLLECTIVE, now: image_flush() to the run directory. */
int tiers_flush(struct tiers *t, struct comm *comm, const struct image_tier *tier,
                int64_t iteration, struct error *err);

#endif
