/*
 * saving.h - a checkpoint on its way from the training function to storage, as a
 * session sees it. The steps, in order; all are called by the session's thread:
 *
 *   saving_begin()   wait for the save before this one; the ranks agree on what to
 *                    save, and rank 0 lays out the file
 *   saving_take()    take the tensors' data, so that training may change them:
 *                    mode "async" copies them into a snapshot; mode "sync", or a node
 *                    without memory for a copy, writes the checkpoint while training
 *                    waits, and copies only what is on devices. Tensors there that stay
 *                    as they are (checkpoint_fetch) may still be copied on return
 *   saving_fence()   order what is queued on GPUs from now on after these copies
 *   (the session writes the report's line: with "async" it comes before the checkpoint
 *   that it names, with "sync" after it)
 *   saving_go()      "async": write it in the background
 *   saving_settle()  wait for that: at the next save, and at the end
 *
 * Both modes write by the same function, save_write() in saving.c: it syncs the
 * reports, then puts the checkpoint into the tiers (tiers.h), which flush it to storage
 * later; or it writes and publishes it on storage, and applies retention.
 *
 * So checkpoints are published in order. A failure in the background is reported once,
 * by the next saving_settle(). The background has a communicator of its own, and sleeps
 * between polls while it waits, so that it leaves the core to training.
 */
#ifndef RAYTRAIN_SAVING_SAVING_H
#define RAYTRAIN_SAVING_SAVING_H

#include "checkpoint/checkpoint.h"
#include "config/checkpoint_config.h"
#include "rank/collective_wait.h"
#include "saving/tiers.h"

/* Copied, except for `waiting` and `tiers`: the background may outlive a session that
 * has failed. */
struct saving_env {
    const char *run_dir, *log_dir;
    const struct checkpoint_config *config;
    int n_sharing;   /* workers on this node */
    int node, local; /* the number of the node, and the place among its workers */
    struct collective_wait *waiting; /* the session's */
    struct tiers *tiers; /* NULL: straight to storage; lives as long as the saving */
};

/* Figures for the report that came with the checkpoint. */
struct saving_figures {
    uint64_t bytes; /* of the file */
    double stall_s; /* how long training waited: begin and take */
    double write_s; /* save_write() for the latest complete save; NaN: there is none */
};

struct saving;

int saving_create(const struct saving_env *env, struct saving **out, struct error *err);
/* What the next save is likely to copy on this rank. */
struct saving_need {
    uint64_t bytes, of_devices; /* all of them; those that are on devices */
    int device, id;             /* a device that has some of them */
};
/* Prepare the memory in the background, pinned for GPUs, unless a save is under way. It
 * only grows, and stays until saving_destroy(). */
void saving_expect(struct saving *s, const struct saving_need *need);

/* COLLECTIVE over comm; all ranks return the same. Takes over ck in any case. */
int saving_begin(struct saving *s, struct comm *comm, raytrain_checkpoint *ck,
                 const struct checkpoint_meta *meta, const char *path,
                 struct error *err);
/* COLLECTIVE over the same comm; all ranks return the same. */
int saving_take(struct saving *s, struct error *err);
/* Does nothing if there is nothing to write, or if it is written. Do not call it if
 * something has failed since saving_begin(): the next step then drops the save. */
void saving_go(struct saving *s);
/* All ranks return the same. */
int saving_settle(struct saving *s, struct error *err);
/* The same, and wait until all checkpoints are on storage. */
int saving_drain(struct saving *s, struct error *err);

/* Free the memory of the checkpoint if the background has written it, or its memory on
 * devices if that has been copied. A failure remains for saving_settle(). */
void saving_release(struct saving *s);
/* See above. Does nothing if no copy is under way. */
int saving_fence(struct saving *s, struct error *err);
/* The newest iteration of this attempt that is on storage, as far as this rank knows;
 * -1: none. */
int64_t saving_durable(const struct saving *s);

/* Has this rank seen a failure that saving_settle() will report? Other ranks may not
 * have seen it yet. */
bool saving_has_failed(const struct saving *s);
/* On rank 0. */
void saving_figures(const struct saving *s, struct saving_figures *figures);
/* When the session has failed: wait for a save under way for at most `seconds`. Returns
 * whether it has ended. */
bool saving_linger(struct saving *s, double seconds);
/* Call only if saving_linger() has returned true. Not clean: the communicator is left
 * alone. Accepts NULL. */
void saving_destroy(struct saving *s, bool clean);

#endif
