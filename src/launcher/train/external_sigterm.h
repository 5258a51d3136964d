/*
 * external_sigterm.h - workers that received a SIGTERM from outside raytrain-run: from
 * Slurm, for the whole job, or from what takes a node away. Each has recorded it in the
 * log directory of its attempt (rank/stop.h).
 */
#ifndef RAYTRAIN_TRAIN_EXTERNAL_SIGTERM_H
#define RAYTRAIN_TRAIN_EXTERNAL_SIGTERM_H

#include "watch/watch.h"

struct told {
    const struct placement *plan; /* of the attempt; borrowed */
    bool *in;                     /* for each rank: was it told? */
    int n;                        /* how many were */
};

/* RAYTRAIN_ENOMEM. What cannot be read is no word. */
int told_read(const struct placement *plan, const char *log_dir, struct told *told,
              struct error *err);
void told_clear(struct told *told);

/* Why the attempt ended, in words; some were told. */
void told_find(const struct told *told, struct watch_finding *finding);
/* Their nodes may soon be gone: the next plan does without them, if there is one. */
void told_leave(const struct told *told, struct attempt_planner *planner);

#endif
