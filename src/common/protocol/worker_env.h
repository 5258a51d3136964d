/*
 * worker_env.h - what the launcher passes to the workers through the environment, and
 * the signals that it sends them. Everything else is in the run directory.
 */
#ifndef RAYTRAIN_PROTOCOL_WORKER_ENV_H
#define RAYTRAIN_PROTOCOL_WORKER_ENV_H

#include <signal.h>
#include <stddef.h>

#include "util/error.h"

/* Asks a worker to stop at its next report (rank/stop.h). */
#define WORKER_STOP_SIGNAL SIGUSR1

/* Asks a worker where it is (rank/stack_trace.h). By default it is ignored, so it does
 * no harm to children of workers, to which Slurm sends signals, too. */
#define WORKER_STACK_SIGNAL SIGURG

/* Of the worker of a task that stays for several attempts (worker/task): an entry that
 * only its processes have in their environment, and the number of a descriptor to which
 * it writes a byte when it has left the group at the end. */
#define WORKER_TASK_MARK       "RAYTRAIN_TASK"
#define WORKER_TASK_DESCRIPTOR "RAYTRAIN_TASK_FD"

struct worker_env {
    char *run_dir; /* RAYTRAIN_RUN_DIR, absolute */
    int attempt;   /* RAYTRAIN_ATTEMPT, from 0 */
    int workers;   /* RAYTRAIN_WORKERS: the size that the wireup must find */
    char *backend; /* RAYTRAIN_BACKEND */
    char *marker;  /* RAYTRAIN_MARKER: the token that RUN_DIR/.marker must contain */
    int gpus;      /* RAYTRAIN_GPUS_PER_WORKER: that it sees */
    int sharing;  /* RAYTRAIN_WORKERS_PER_GPU: how many have the same one; 1: none do */
    int predicts; /* RAYTRAIN_PREDICTS: 1: it is a prediction, not a training */
};

/* Decode this process's environment. RAYTRAIN_EUSAGE if RAYTRAIN_RUN_DIR is not set
 * (not started by raytrain-run), RAYTRAIN_EINVAL if a value is invalid. */
int worker_env_decode(struct worker_env *env, struct error *err);
/* Set the variables in the environment of this process, before workers are started. */
int worker_env_export(const struct worker_env *env, struct error *err);
void worker_env_clear(struct worker_env *env);

#endif
