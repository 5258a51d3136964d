/*
 * tiers.h - where a checkpoint is before it is on storage: in the memory of the nodes
 * (checkpoint_config.replicas), staged on their local disks (sync_config.staging_path),
 * or both, in this order. The last of these is flushed to storage in the background.
 *
 * The newest checkpoint in memory stays until a newer one is complete, so that a
 * restart takes it from there; a staged one is removed as soon as it is on storage. The
 * next attempt finds what a killed one has left, and flushes the staged checkpoints
 * first. A checkpoint for which no tier has room is written straight to storage.
 */
#ifndef RAYTRAIN_SAVING_TIERS_H
#define RAYTRAIN_SAVING_TIERS_H

#include "checkpoint/checkpoint.h"
#include "config/run_config.h"
#include "wireup/wireup.h"

/* Borrowed by tiers_create() alone: the flusher may outlive a session that has
 * failed. */
struct tiers_env {
    const char *run_dir, *log_dir;
    const struct run_config *config;
    const struct world *world;
};

struct tiers;

/* COLLECTIVE. *out is NULL if no tier is configured. */
int tiers_create(const struct tiers_env *env, struct comm *comm, struct tiers **out,
                 struct error *err);
/*
 * COLLECTIVE, at the start: flush what is staged to storage. *out is the checkpoint in
 * memory if it is not older than the newest on storage up to iteration `at_most`; else
 * NULL: then read storage. What storage may lack is not removed.
 */
int tiers_restore(struct tiers *t, struct comm *comm, int64_t at_most,
                  raytrain_checkpoint **out, struct error *err);
/*
 * COLLECTIVE, in any thread: put a save that has begun into the tiers, which flush it
 * to storage. On return it is durable if it is staged, or if mode is "sync". *placed is
 * false if no tier has taken it: then everything before it is on storage, and the
 * caller writes it there and calls tiers_on_storage(). Fails if an earlier flush has
 * failed.
 */
int tiers_put(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
              int64_t iteration, bool *placed, struct error *err);
void tiers_on_storage(struct tiers *t, int64_t iteration);
const struct node_map *tiers_nodes(const struct tiers *t);
/* The newest iteration on storage, as far as this rank knows; -1: none. */
int64_t tiers_flushed(struct tiers *t);

/* The following accept NULL. */
/* The newest iteration that tiers_restore() did not use because storage has it, or a
 * newer one; -1: none. If the one on storage turns out to be damaged, restore again. */
int64_t tiers_spare(const struct tiers *t);
/* Once, at the start: training continues from this iteration, which was read from
 * storage or taken from memory, and is verified; -1: from no checkpoint of this run.
 * Removes what is no longer needed. */
void tiers_resume(struct tiers *t, int64_t iteration);
/* Has a flush failed? Other ranks may not know yet. */
bool tiers_have_failed(struct tiers *t);
/* Wait until all is on storage; all ranks return the same. `waiting` is called once a
 * second. */
int tiers_settle(struct tiers *t, void (*waiting)(void *arg, double waited_s),
                 void *arg, struct error *err);
/* The same for at most `seconds`, when the session has failed. */
bool tiers_linger(struct tiers *t, double seconds);
/* COLLECTIVE, after tiers_settle(): the run no longer needs the tiers. */
void tiers_forget(struct tiers *t, struct comm *comm);
/* Not clean: communicators are left alone, and a flush in progress keeps what it needs;
 * the process is about to end. */
void tiers_destroy(struct tiers *t, bool clean);

#endif
