/*
 * checkpoint_manager.h - the checkpoints of one run: list them, open the one to start
 * from, delete those that CheckpointConfig does not keep (top K by score; never the
 * newest).
 */
#ifndef RAYTRAIN_RUN_CHECKPOINT_MANAGER_H
#define RAYTRAIN_RUN_CHECKPOINT_MANAGER_H

#include "checkpoint/checkpoint.h"
#include "config/checkpoint_config.h"

struct checkpoint_entry {
    int64_t iteration;
    double score; /* NaN: none */
    bool has_score;
};

/* Pure: mark in drop[i] the entries (sorted by iteration) that retention deletes.
 * NaN and missing scores rank lowest, ties go to the newer; the newest and the best
 * stay. */
void checkpoint_retention(const struct checkpoint_entry *entries, size_t n,
                          const struct checkpoint_config *cfg, bool *drop);

/* Does retention prefer a to b? Entries of different iterations are never equal. */
bool checkpoint_entry_better(const struct checkpoint_entry *a,
                             const struct checkpoint_entry *b,
                             const struct checkpoint_config *cfg);

/* COLLECTIVE: all ranks read a checkpoint that seemed damaged once more. */
enum damage {
    DAMAGE_NONE,     /* no rank sees any damage now */
    DAMAGE_DOUBTED,  /* some rank does, but not rank 0, which would rename it */
    DAMAGE_CONFIRMED /* rank 0 does, too */
};
int checkpoint_confirm_damage(struct comm *comm, const char *path, enum damage *damage,
                              struct error *err);

/* The checkpoints in RUN with final names, sorted by iteration; *iterations is
 * malloc'ed. */
int checkpoint_manager_list(const char *run_dir, int64_t **iterations, size_t *n,
                            struct error *err);

/* The iteration in the final name of a checkpoint, with or without a directory; -1: it
 * is not such a name. */
int64_t checkpoint_manager_iteration(const char *path);

/* The iteration of the newest published checkpoint, by its name alone; -1: none, or the
 * directory cannot be read. */
int64_t checkpoint_manager_newest(const char *run_dir);

/*
 * COLLECTIVE. Open and verify the newest valid checkpoint of RUN; *out is NULL if there
 * are no checkpoints. Each invalid one is reported to `note` with its reason (on rank 0
 * only; may be NULL); damaged ones are set aside once an older one is open.
 * RAYTRAIN_ECORRUPT if none is valid: then all keep their names, since otherwise the
 * next start would silently begin from scratch.
 */
int checkpoint_manager_latest(struct comm *comm, const char *run_dir,
                              void (*note)(void *arg, const char *text), void *arg,
                              raytrain_checkpoint **out, struct error *err);

/* Rename path to path.damaged (path.damaged.2 ... if that exists). *aside is malloc'ed,
 * and may be set on failure, too: renamed, but perhaps not durably. */
int checkpoint_set_aside(const char *path, char **aside, struct error *err);

/* Rank 0, at the start and after a publish: apply retention, and remove temporary
 * files of dead attempts. A failed deletion does not fail the run; it is reported to
 * `note`. */
int checkpoint_manager_prune(const char *run_dir, const struct checkpoint_config *cfg,
                             void (*note)(void *arg, const char *text), void *arg,
                             struct error *err);

/* The launcher, when no worker of its run is alive: remove what saves have left that
 * were interrupted. Failures as above. */
void checkpoint_manager_tidy(const char *run_dir,
                             void (*note)(void *arg, const char *text), void *arg);

/* The best checkpoint by score (the newest without a score attribute) and the newest,
 * for the Result: malloc'ed paths, NULL if there are none. Serial; trusts completeness
 * marks, does not verify. */
int checkpoint_manager_best(const char *run_dir, const struct checkpoint_config *cfg,
                            char **best, char **latest, struct error *err);

/* The same, by the score that RUN/run.cfg names. */
int checkpoint_manager_best_of(const char *run_dir, char **best, char **latest,
                               struct error *err);

/* Serial. The error of the newest checkpoint after this iteration that cannot be opened,
 * with its path: the functions above leave it out. */
int checkpoint_manager_check(const char *run_dir, int64_t after, struct error *err);

#endif
