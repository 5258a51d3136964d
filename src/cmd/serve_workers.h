/*
 * serve_workers.h - how raytrain-serve starts its workers: as steps of the batch job that
 * it is in, or as its own processes.
 */
#ifndef RAYTRAIN_CMD_SERVE_WORKERS_H
#define RAYTRAIN_CMD_SERVE_WORKERS_H

#include "config/train_config.h"

/* The variable by which a worker's process knows its launcher. */
#define SERVE_LAUNCHER "RAYTRAIN_SERVE_LAUNCHER"

/*
 * In the first process: choose the launcher, for which the user has typed `launcher`, and
 * set SERVE_LAUNCHER. "auto" is slurm in a batch job, whose workers are steps of their own
 * on this node, and local anywhere else: within a step, the workers share what that has.
 * Each of `models` has the workers of `cfg`, and `follows` of them change their version.
 * RAYTRAIN_EFIT: this node has no room for all workers.
 */
int serve_workers_plan(const char *launcher, const struct train_config *cfg,
                       size_t models, size_t follows, struct error *err);

/* Does this process run in a job of a batch system? */
bool serve_is_in_job(void);

/* In the process of a worker: `scaling` becomes that of one worker on this node. */
int serve_worker_settle(const char *launcher, struct scaling_config *scaling,
                        struct error *err);

#endif
