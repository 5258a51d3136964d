/*
 * worker_env.h - what the launcher half tells the worker half through the environment.
 * Everything else is in the run directory.
 */
#ifndef RAYTRAIN_PROTOCOL_WORKER_ENV_H
#define RAYTRAIN_PROTOCOL_WORKER_ENV_H

#include <signal.h>
#include <stddef.h>

#include "util/error.h"

/* Asks a worker where it is (rank/stack_trace.h). One that harms no process that does
 * not know it: Slurm sends signals to the children of workers, too. */
#define WORKER_STACK_SIGNAL SIGURG

struct worker_env {
    char *run_dir; /* RAYTRAIN_RUN_DIR, absolute */
    int attempt;   /* RAYTRAIN_ATTEMPT, from 0 */
    int workers;   /* RAYTRAIN_WORKERS: the size that the wireup must find */
    char *backend; /* RAYTRAIN_BACKEND */
    char *marker;  /* RAYTRAIN_MARKER: the token that RUN_DIR/.marker must hold */
    int gpus;      /* RAYTRAIN_GPUS_PER_WORKER */
};

/* From this process's environment. RAYTRAIN_EUSAGE where RAYTRAIN_RUN_DIR is not set
 * (not started by raytrain-run), RAYTRAIN_EINVAL where a value makes no sense. */
int worker_env_decode(struct worker_env *env, struct error *err);
/* Set the variables in this process's environment (before workers are started). */
int worker_env_export(const struct worker_env *env, struct error *err);
void worker_env_clear(struct worker_env *env);

#endif
