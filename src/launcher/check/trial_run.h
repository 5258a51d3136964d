/*
 * trial_run.h - an ordinary run whose training function tries what runs rely on: the
 * launcher, PMIx, MPI, reports and a checkpoint. Its run directory is removed
 * afterwards.
 */
#ifndef RAYTRAIN_CHECK_TRIAL_RUN_H
#define RAYTRAIN_CHECK_TRIAL_RUN_H

#include "check/check.h"
#include "train/backend_executor.h"

struct trial_run {
    struct run_outcome outcome;
    json_t *report; /* NULL: none; may be incomplete if the run has failed */
    int workers;
    double took_s;
};

/* The number of workers: one per node, but at least two, or more if the user has asked
 * for more. Sets context->n_nodes. RAYTRAIN_EFIT and RAYTRAIN_ENOTSUP as in resources()
 * of launcher.h. */
int trial_run_workers(struct check_context *context, int *workers, struct error *err);

/* The directory `storage` must exist. -1: the run could not begin. Removes what killed
 * checks on this host have left there. */
int trial_run(const struct check_context *context, const char *storage, int workers,
              struct trial_run *trial, struct error *err);
void trial_run_clear(struct trial_run *trial);

#endif
