/*
 * requeue.h - back to the queue: a batch job that is stopped before its work is done
 * (run_config.requeue_on_stop).
 */
#ifndef RAYTRAIN_TRAIN_REQUEUE_H
#define RAYTRAIN_TRAIN_REQUEUE_H

#include "train/backend_executor.h"

/* Could it work? Before anything starts: RAYTRAIN_EINVAL says why not. */
int requeue_check(const struct train_config *cfg, const struct options *opt,
                  struct error *err);
/* Is this job to go back to the queue, after a run that ended so? Not where the user
 * pressed a key or cancelled the job. */
bool requeue_is_due(const struct train_config *cfg, const struct run_outcome *outcome);
#endif
