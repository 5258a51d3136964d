/*
 * requeue.h - a batch job that is stopped before its work is done goes back to the
 * queue (run_config.requeue_on_stop).
 */
#ifndef RAYTRAIN_TRAIN_REQUEUE_H
#define RAYTRAIN_TRAIN_REQUEUE_H

#include "launch/batch_system.h"
#include "train/backend_executor.h"

/* Before anything starts: could the job be requeued? RAYTRAIN_EINVAL says why not. */
int requeue_check(const struct train_config *cfg, const struct options *opt,
                  struct error *err);
/* Is the job to be requeued after this outcome? Not if the user pressed Ctrl-C or
 * cancelled the job. True: *job is what the batch system says of it. */
bool requeue_is_due(const struct train_config *cfg, const struct run_outcome *outcome,
                    struct batch_job *job);
#endif
