/*
 * tiers.h - where a checkpoint is before it is on storage: in the memory of the nodes
 * (checkpoint_config.replicas), staged on their local disks (sync_config.staging_path),
 * or both, in this order. From the last of these it is moved to storage in the
 * background.
 *
 * In memory the newest one stays until a newer one is complete, so that a restart takes
 * it from there; a staged one goes as soon as it is on storage. What a killed attempt
 * left behind, the next one finds: the staged ones are moved first. A checkpoint that no
 * tier has room for goes straight to storage.
 */
#ifndef RAYTRAIN_SAVING_TIERS_H
#define RAYTRAIN_SAVING_TIERS_H

#include "checkpoint/checkpoint.h"
#include "config/run_config.h"
#include "wireup/wireup.h"

/* Borrowed by tiers_create() alone: the mover may outlive a session that has failed. */
struct tiers_env {
    const char *run_dir, *log_dir;
    const struct run_config *config;
    const struct world *world;
};

struct tiers;

/* COLLECTIVE. *out is NULL where there are none. */
int tiers_create(const struct tiers_env *env, struct comm *comm, struct tiers **out,
                 struct error *err);
/*
 * COLLECTIVE, at the start: what is staged goes to storage; *out is what memory has, if
 * that is not older than what storage has up to iteration `at_most`, else NULL: then
 * storage is to be read. Nothing is removed that storage may not have.
 */
int tiers_restore(struct tiers *t, struct comm *comm, int64_t at_most,
                  raytrain_checkpoint **out, struct error *err);
/*
 * COLLECTIVE: RUN of a save, in any thread, into the tiers. It is durable on return
 * where it is staged, or where mode is "sync". A move that failed since is told here.
 */
int tiers_save(struct tiers *t, struct checkpoint_save *save, struct comm *comm,
               int64_t iteration, struct error *err);

/* The following take NULL. */
/* The newest iteration that tiers_restore() left where it is because storage has one of
 * its name, or a newer one; -1: none. If that turns out to be damaged, restore again. */
int64_t tiers_spare(const struct tiers *t);
/* Once, at the start: training goes on from what is on storage or was taken from memory,
 * of this iteration; it is verified. -1: from none of this run. What it makes useless is
 * removed. */
void tiers_resume(struct tiers *t, int64_t iteration);
/* Has a move failed? Other ranks may not know yet. */
bool tiers_have_failed(struct tiers *t);
/* Wait until all is on storage; all ranks return the same. `waiting` is called once a
 * second. */
int tiers_settle(struct tiers *t, void (*waiting)(void *arg, double waited_s),
                 void *arg, struct error *err);
/* The same for so many seconds, where the session will not go on. */
bool tiers_linger(struct tiers *t, double seconds);
/* COLLECTIVE, after tiers_settle(): the run needs them no more. */
void tiers_forget(struct tiers *t, struct comm *comm);
/* Not clean: communicators are left alone; a move under way keeps what it needs, the
 * process is about to end. */
void tiers_destroy(struct tiers *t, bool clean);

#endif
