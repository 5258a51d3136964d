/*
 * saving.h - how a session saves: in the background (checkpoint_config.mode = "async"),
 * or while training waits ("sync"). Both go through the same stages of
 * checkpoint/checkpoint.h; the only differences are the snapshot and who calls the last
 * one.
 *
 *   saving_begin()   wait for the save before; BEGIN; async: the snapshot, sync: RUN
 *   (the report's line is written: it comes before the checkpoint that it names)
 *   saving_go()      async: RUN in the background
 *   saving_settle()  wait for it: at the next save, and at the end
 *
 * So saves are published in order. A background one that fails is told once, by the
 * next saving_settle(). The background has a communicator of its own, which waits by
 * napping: the core is for training.
 *
 * Where there are tiers (tiers.h), RUN is into these, and moving on to storage is their
 * own affair; saving_drain() waits for that, too.
 *
 * All of it is called by the session's thread.
 */
#ifndef RAYTRAIN_SAVING_SAVING_H
#define RAYTRAIN_SAVING_SAVING_H

#include "checkpoint/checkpoint.h"
#include "config/checkpoint_config.h"
#include "rank/collective_wait.h"
#include "saving/tiers.h"

/* What is borrowed but `waiting` is copied: the background may outlive a session that
 * has failed. */
struct saving_env {
    const char *run_dir, *log_dir;
    const struct checkpoint_config *config;
    int n_sharing;           /* workers on this node */
    int node, local;         /* which node this is, and the place among its workers */
    struct waiting *waiting; /* of the session */
    struct tiers *tiers; /* NULL: straight to storage; lives as long as the saving */
};

/* For the report that brought the checkpoint. */
struct saving_figures {
    uint64_t bytes; /* of the file */
    double stall_s; /* how long it kept training waiting */
    double write_s; /* RUN of the latest save that is published; NaN: there is none */
};

struct saving;

int saving_create(const struct saving_env *env, struct saving **out, struct error *err);
/* The first save will be of about so many bytes on this rank: have the memory ready. */
void saving_expect(struct saving *s, uint64_t bytes);
/* COLLECTIVE over comm; all ranks return the same. Takes ck in any case. */
int saving_begin(struct saving *s, struct comm *comm, raytrain_checkpoint *ck,
                 const struct checkpoint_meta *meta, const char *path,
                 struct error *err);
/* Let go what has begun, if anything. Not where something has failed since. */
void saving_go(struct saving *s);
/* Has this rank seen a failure that saving_settle() will tell? Others may not yet. */
bool saving_has_failed(const struct saving *s);
/* All ranks return the same. */
int saving_settle(struct saving *s, struct error *err);
/* The same, and all is on storage. */
int saving_drain(struct saving *s, struct error *err);
/* Rank 0. */
void saving_figures(const struct saving *s, struct saving_figures *figures);
/* Give a save under way so many seconds to end, where the session will not go on.
 * False: it has not. */
bool saving_linger(struct saving *s, double seconds);
/* Only where saving_linger() says true. Not clean: the communicator is left alone. NULL
 * is fine. */
void saving_destroy(struct saving *s, bool clean);

#endif
