/* step_command.h - one step of an allocation as a command line and an environment. */
#ifndef RAYTRAIN_SLURM_STEP_COMMAND_H
#define RAYTRAIN_SLURM_STEP_COMMAND_H

#include "launch/launcher.h"

/* How long a step may wait for CPUs that another one of this allocation holds. */
#define SLURM_STEP_WAIT_S 30

/* The step's command: malloc'ed, argv_free(). RAYTRAIN_EUSAGE for srun_args that cannot
 * be split, RAYTRAIN_EINVAL for a log directory that Slurm cannot be told. */
int slurm_step_argv(const struct launch_spec *spec, char ***argv, struct error *err);

/* In the log directory, a list of nodes that is too long for a command line; it stays
 * there, as part of what the step was. */
#define SLURM_STEP_HOSTS "hosts"

/* What slurm_step_argv() expects in that file: malloc'ed, NULL if it expects none. */
int slurm_step_hosts(const struct placement *plan, char **hosts, struct error *err);

/* `env` without the variables that would change the step, and with OMP_NUM_THREADS =
 * cpus_per_worker where it says nothing about it: malloc'ed, argv_free(). */
int slurm_step_env(char *const *env, int cpus_per_worker, char ***out,
                   struct error *err);

/* The command that takes an allocation for this and runs argv in it. fits is a plan
 * that the cluster has room for: of a range of workers so many are asked for, and as
 * many more nodes of its kind as are to be spare. NULL: unknown. */
int slurm_allocate_argv(const struct scaling_config *scaling,
                        const struct placement *fits, const char *job_name,
                        char *const *command, char ***argv, struct error *err);

#endif
