/*
 * serve_workers.h - how raytrain-serve starts its workers: as steps of its batch job,
 * or as its own child processes.
 */
#ifndef RAYTRAIN_CMD_SERVE_WORKERS_H
#define RAYTRAIN_CMD_SERVE_WORKERS_H

#include "config/train_config.h"

/* The variable that has the launcher's name, in a worker's process. */
#define SERVE_LAUNCHER "RAYTRAIN_SERVE_LAUNCHER"

/*
 * In the first process: choose the launcher by `launcher`, as typed by the user, and
 * set SERVE_LAUNCHER. "auto" is slurm in a batch job, whose workers are steps of their
 * own on this node, and local otherwise: within a step, workers share the step's
 * resources. Each of `models` has the workers of `cfg`; `follows` of them can change
 * their version. RAYTRAIN_EFIT: not all workers fit on this node.
 */
int serve_workers_plan(const char *launcher, const struct train_config *cfg,
                       size_t models, size_t follows, struct error *err);

/* Does this process run in a job of a batch system? */
bool serve_is_in_job(void);

/* In the process of a worker: set `scaling` to one worker on this node. */
int serve_worker_settle(const char *launcher, struct scaling_config *scaling,
                        struct error *err);

#endif
