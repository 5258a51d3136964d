/*
 * checkpoint_manager.h - the checkpoints of one run: which there are, which to start
 * from, which to delete (CheckpointConfig: top-K by score, newest never deleted).
 */
#ifndef RAYTRAIN_RUN_CHECKPOINT_MANAGER_H
#define RAYTRAIN_RUN_CHECKPOINT_MANAGER_H

#include "checkpoint/checkpoint.h"
#include "config/checkpoint_config.h"

struct checkpoint_entry {
    int64_t iteration;
    double score; /* NaN: has none */
    bool has_score;
};

/* Pure: mark in drop[i] the entries (sorted by iteration) that retention deletes. NaN
 * and missing scores rank lowest, ties go to the newer, the newest and the best stay.
 */
void checkpoint_retention(const struct checkpoint_entry *entries, size_t n,
                          const struct checkpoint_config *cfg, bool *drop);

/* Does retention prefer a? No two entries of different iterations are equal. */
bool checkpoint_entry_better(const struct checkpoint_entry *a,
                             const struct checkpoint_entry *b,
                             const struct checkpoint_config *cfg);

/* COLLECTIVE: look once more, on every rank, at a checkpoint that seemed damaged. */
enum damage {
    DAMAGE_NONE,     /* no rank sees any now */
    DAMAGE_DOUBTED,  /* a rank still does, but rank 0, which would rename it, does not */
    DAMAGE_CONFIRMED /* rank 0 does, too */
};
int checkpoint_confirm_damage(struct comm *comm, const char *path, enum damage *damage,
                              struct error *err);

/* Final names present in RUN, sorted by iteration; *iterations malloc'ed. */
int checkpoint_manager_list(const char *run_dir, int64_t **iterations, size_t *n,
                            struct error *err);

/* The iteration in the final name of a checkpoint, with or without a directory; -1: it
 * is none. */
int64_t checkpoint_manager_iteration(const char *path);

/* The iteration of the newest published one, by its name alone; -1: none, or the
 * directory cannot be read. */
int64_t checkpoint_manager_newest(const char *run_dir);

/*
 * COLLECTIVE. The newest checkpoint of RUN that opens and verifies; *out NULL if there
 * is none. Each one that was passed over is told to `note` (rank 0 only; may be NULL)
 * with its reason; the damaged ones are set aside once an older one is taken.
 * RAYTRAIN_ECORRUPT where there are checkpoints but none is valid: then all keep their
 * names, or the next start would begin afresh in silence.
 */
int checkpoint_manager_latest(struct comm *comm, const char *run_dir,
                              void (*note)(void *arg, const char *text), void *arg,
                              raytrain_checkpoint **out, struct error *err);

/* Rename path to path.damaged (.damaged.2 ... where that exists); *aside is malloc'ed,
 * and may be there on failure, too: renamed, but perhaps not durably. */
int checkpoint_set_aside(const char *path, char **aside, struct error *err);

/* Rank 0, at the start and after a publish: apply retention; removes temporaries of
 * dead attempts. A failed delete is not an error of the run: it is told to `note`.
 */
int checkpoint_manager_prune(const char *run_dir, const struct checkpoint_config *cfg,
                             void (*note)(void *arg, const char *text), void *arg,
                             struct error *err);

/* Best by score (newest without a score attribute) and newest, for the Result:
 * malloc'ed paths, NULL if there is none. Serial; trusts completeness marks, does not
 * verify. */
int checkpoint_manager_best(const char *run_dir, const struct checkpoint_config *cfg,
                            char **best, char **latest, struct error *err);

#endif
