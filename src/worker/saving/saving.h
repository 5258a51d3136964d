/*
 * saving.h - a checkpoint on its way from the training function to storage, as a
 * session sees it. The steps, in order; all are called by the session's thread:
 *
 *   saving_begin()   wait for the save before this one; the ranks agree on what there
 *                    is to save, and rank 0 lays out the file
 *   saving_take()    take the tensors' data, so that training may change them:
 *                    mode "async" copies them into a snapshot; mode "sync", or a node
 *                    without memory for a copy, writes the checkpoint while training
 *                    waits, and copies only what is on devices. What is there and stays
 *                    as it is (checkpoint_fetch) may still be copied on return
 *   saving_fence()   what is queued on cards from now on comes after these copies
 *   (the session writes the report's line: with "async" it comes before the checkpoint
 *   that it names, with "sync" after it)
 *   saving_go()      "async": write it in the background
 *   saving_settle()  wait for that: at the next save, and at the end
 *
 * Both modes write by the same function, save_write() in saving.c: it makes the reports
 * so far durable, then puts the checkpoint into the tiers (tiers.h), which flush it to
 * storage later; or it writes and publishes it on storage, and applies retention.
 *
 * So checkpoints are published in order. A failure in the background is reported once,
 * by the next saving_settle(). The background has a communicator of its own, and sleeps
 * between polls while it waits: the core is for training.
 */
#ifndef RAYTRAIN_SAVING_SAVING_H
#define RAYTRAIN_SAVING_SAVING_H

#include "checkpoint/checkpoint.h"
#include "config/checkpoint_config.h"
#include "rank/collective_wait.h"
#include "saving/tiers.h"

/* All but `waiting` and `tiers` is copied: the background may outlive a session that
 * has failed. */
struct saving_env {
    const char *run_dir, *log_dir;
    const struct checkpoint_config *config;
    int n_sharing;   /* workers on this node */
    int node, local; /* which node this is, and the place among its workers */
    struct collective_wait *waiting; /* of the session */
    struct tiers *tiers; /* NULL: straight to storage; lives as long as the saving */
};

/* For the report that brought the checkpoint. */
struct saving_figures {
    uint64_t bytes; /* of the file */
    double stall_s; /* how long training waited: begin and take */
    double write_s; /* save_write() of the latest one that is complete; NaN: none is */
};

struct saving;

int saving_create(const struct saving_env *env, struct saving **out, struct error *err);
/* What the next save is likely to copy on this rank. */
struct saving_need {
    uint64_t bytes, of_devices; /* the latter are among the former */
    int device, id;             /* a card that has some of them */
};
/* Have the memory ready, for cards pinned, in the background, unless a save is under way. What
 * is prepared only grows, and stays until the end. */
void saving_expect(struct saving *s, const struct saving_need *need);

/* COLLECTIVE over comm; all ranks return the same. Takes over ck in any case. */
int saving_begin(struct saving *s, struct comm *comm, raytrain_checkpoint *ck,
                 const struct checkpoint_meta *meta, const char *path,
                 struct error *err);
/* COLLECTIVE over the same; all ranks return the same. */
int saving_take(struct saving *s, struct error *err);
/* Nothing if there is nothing to write, or it is written. Not if something has failed
 * since saving_begin(): the next step then drops the save. */
void saving_go(struct saving *s);
/* All ranks return the same. */
int saving_settle(struct saving *s, struct error *err);
/* The same, and all is on storage. */
int saving_drain(struct saving *s, struct error *err);

/* If the background has written the save, give back the memory of its checkpoint; if it
 * has copied what is on devices, that memory. A failure remains for saving_settle(). */
void saving_release(struct saving *s);
/* See above; nothing if no copy is under way. */
int saving_fence(struct saving *s, struct error *err);
/* The newest iteration that is on storage, as far as this rank knows; -1: none of this
 * attempt. */
int64_t saving_durable(const struct saving *s);

/* Has this rank seen a failure that saving_settle() will report? Others may not yet. */
bool saving_has_failed(const struct saving *s);
/* Rank 0. */
void saving_figures(const struct saving *s, struct saving_figures *figures);
/* If the session will not go on: give a save under way so many seconds to end. False:
 * it has not. */
bool saving_linger(struct saving *s, double seconds);
/* Only if saving_linger() says true. Not clean: the communicator is left alone. NULL is
 * fine. */
void saving_destroy(struct saving *s, bool clean);

#endif
