/*
 * requeue.h - a run and the batch job around it: does the job leave time for the run,
 * and does it go back to the queue when the run is stopped before its work is done
 * (run_config.requeue_on_stop)?
 */
#ifndef RAYTRAIN_TRAIN_REQUEUE_H
#define RAYTRAIN_TRAIN_REQUEUE_H

#include "launch/batch_system.h"
#include "train/backend_executor.h"

/* Before the run starts: is the job longer than the margin before its end, and can it
 * be requeued if requested? RAYTRAIN_EINVAL says why not. */
int job_check(const struct train_config *cfg, const struct options *opt,
              struct error *err);
/* Should the job be requeued after this outcome? Not if the user pressed Ctrl-C or
 * cancelled the job, and not a second time without a new checkpoint. True: *job has the
 * batch system's answer. */
bool requeue_is_due(const struct train_config *cfg, const struct run_outcome *outcome,
                    struct batch_job *job);
#endif
