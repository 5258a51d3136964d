/*
 * trial_run.h - a run like any other, whose training function tries what a run relies on:
 * it goes through the launcher, PMIx, MPI, reports and a checkpoint, in a run directory of
 * its own, which is removed afterwards.
 */
#ifndef RAYTRAIN_CHECK_TRIAL_RUN_H
#define RAYTRAIN_CHECK_TRIAL_RUN_H

#include "check/check.h"
#include "train/backend_executor.h"

struct trial_run {
    struct run_outcome outcome;
    json_t *report; /* NULL: there is none; may be incomplete if the run has failed */
    int workers;
    double took_s;
};

/* How many workers: one on each node, but two at least, unless the user has asked for
 * more; sets context->n_nodes. RAYTRAIN_EFIT / RAYTRAIN_ENOTSUP as launcher.h's
 * resources. */
int trial_run_workers(struct check_context *context, int *workers, struct error *err);

/* The directory storage exists. -1: the run could not begin. Removes what earlier checks
 * of this host have left there that were killed. */
int trial_run(const struct check_context *context, const char *storage, int workers,
              struct trial_run *trial, struct error *err);
void trial_run_clear(struct trial_run *trial);

#endif
