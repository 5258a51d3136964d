/* step_command.h - one step of an allocation as a command line and an environment. */
#ifndef RAYTRAIN_SLURM_STEP_COMMAND_H
#define RAYTRAIN_SLURM_STEP_COMMAND_H

#include "launch/launcher.h"

/* How long a step may wait for CPUs held by another step of this allocation. */
#define SLURM_STEP_WAIT_S 30

/* The step's command: malloc'ed, argv_free(). RAYTRAIN_EUSAGE for srun_args that cannot
 * be split, RAYTRAIN_EINVAL for a log directory that Slurm cannot write to. */
int slurm_step_argv(const struct launch_spec *spec, char ***argv, struct error *err);

/* Do these arguments of srun decide where the standard input of the step comes from? */
bool slurm_step_takes_input(const char *srun_args);

/* A file in the log directory: the list of nodes, if it is too long for a command line.
 * It is kept as part of the record. */
#define SLURM_STEP_HOSTS "hosts"

/* The contents of that file for slurm_step_argv(): malloc'ed; NULL: no file needed. */
int slurm_step_hosts(const struct placement *plan, char **hosts, struct error *err);

/* `env` without the variables that would change the step, and with OMP_NUM_THREADS =
 * cpus_per_worker if that is not set: malloc'ed, argv_free(). */
int slurm_step_env(char *const *env, int cpus_per_worker, char ***out,
                   struct error *err);

/* A file that Slurm writes. */
struct slurm_file {
    const char *option;
    const char *dir;    /* absolute; any characters except a backslash */
    const char *name;   /* may have Slurm's patterns, such as %j */
    const char *advice; /* a sentence for a user whose `dir` has a backslash */
};

/*
 * Append OPTION=DIR/NAME. Slurm replaces patterns in the whole path, so those that
 * `dir` only looks like are escaped. A backslash anywhere in a path turns all patterns
 * off: RAYTRAIN_EINVAL.
 */
int slurm_append_file(const struct slurm_file *file, char ***argv, struct error *err);

/* Append the resources for salloc and sbatch; fits as below. */
int slurm_needs_argv(const struct scaling_config *scaling, const struct placement *fits,
                     char ***argv, struct error *err);

/* Append the user's choice of where and how long a job runs. */
int slurm_given_argv(const struct submit_options *given, char ***argv,
                     struct error *err);

/* The command that takes an allocation, and runs the request's command in it. fits is a
 * plan that the cluster has room for: it determines how many workers of a range are
 * requested, and the nodes to which the spare ones are added. NULL: unknown. */
int slurm_allocate_argv(const struct allocation_request *request,
                        const struct placement *fits, char ***argv, struct error *err);

#endif
