/*
 * child_env.h - the environment of a local worker: the user's, without the variables of
 * a group that this process itself belongs to, and with the worker's share of the GPUs.
 */
#ifndef RAYTRAIN_LOCAL_CHILD_ENV_H
#define RAYTRAIN_LOCAL_CHILD_ENV_H

#include "launch/placement.h"
#include "local/gpus.h"
#include "util/error.h"

/*
 * *env (an argv vector) is a copy of `base` without the variables of an enclosing PMI
 * or PMIx group, with OMP_NUM_THREADS = CPUs per worker if base does not set it, and,
 * if the plan has GPUs, with their variable = this rank's slice of the GPUs.
 * RAYTRAIN_EFIT if the slice does not exist.
 */
int local_env_make(char *const *base, const struct placement *plan, int rank,
                   const struct gpus *gpus, char ***env, struct error *err);

/* The index of this rank's first GPU among those of the machine. */
size_t local_first_gpu(const struct placement *plan, int rank);
/* "a,b,c" of n names: malloc'ed, NULL if out of memory. */
char *local_names_join(char *const *names, size_t n);

/* For the keeper and the PMIx server: a copy of `base` without RAYTRAIN_RUN_DIR, by
 * which a process is known to be a worker of a run. */
int local_helper_env_make(char *const *base, char ***env, struct error *err);

#endif
