/*
 * external_sigterm.h - workers that received a SIGTERM not sent by raytrain-run, but by
 * Slurm for the whole job, or by a system that takes a node away. Each has recorded it
 * in the log directory of its attempt (rank/stop.h).
 */
#ifndef RAYTRAIN_TRAIN_EXTERNAL_SIGTERM_H
#define RAYTRAIN_TRAIN_EXTERNAL_SIGTERM_H

#include "watch/watch.h"

struct external_sigterm {
    const struct placement *plan; /* of the attempt; borrowed */
    bool *received;               /* by each rank */
    int n;                        /* by how many */
};

/* RAYTRAIN_ENOMEM. A record that cannot be read is ignored. */
int external_sigterm_read(const struct placement *plan, const char *log_dir,
                          struct external_sigterm *sigterm, struct error *err);
void external_sigterm_clear(struct external_sigterm *sigterm);

/* Why the attempt ended, if some ranks received one. */
void external_sigterm_describe(const struct external_sigterm *sigterm,
                               struct failure *failure);
/* The nodes of these ranks may soon be gone: leave them out of the next plan, unless it
 * needs them. */
void external_sigterm_avoid(const struct external_sigterm *sigterm,
                            struct attempt_planner *planner);

#endif
