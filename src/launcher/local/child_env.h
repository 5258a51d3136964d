/*
 * child_env.h - the environment of a local worker: the user's, without the variables of
 * a group that this process itself belongs to, and with the worker's share of the GPUs.
 */
#ifndef RAYTRAIN_LOCAL_CHILD_ENV_H
#define RAYTRAIN_LOCAL_CHILD_ENV_H

#include "launch/placement.h"
#include "util/error.h"

/*
 * *env (an argv vector) is a copy of `base` without the variables of an enclosing PMI
 * or PMIx group, with OMP_NUM_THREADS = CPUs per worker if base does not set it, and,
 * if the plan has GPUs, with CUDA_VISIBLE_DEVICES = this rank's slice of
 * gpus[0..n_gpus). RAYTRAIN_EFIT if the slice does not exist.
 */
int local_env_make(char *const *base, const struct placement *plan, int rank,
                   char *const *gpus, size_t n_gpus, char ***env, struct error *err);

/* For the keeper and the PMIx server: a copy of `base` without RAYTRAIN_RUN_DIR, by which
 * a process is known to be a worker of a run. */
int local_helper_env_make(char *const *base, char ***env, struct error *err);

#endif
