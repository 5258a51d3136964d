/* mpi_plugins.h - can Slurm here start workers that find each other by PMIx? */
#ifndef RAYTRAIN_SLURM_MPI_PLUGINS_H
#define RAYTRAIN_SLURM_MPI_PLUGINS_H

#include "util/error.h"

/* The plugin of a step, unless the user names another. */
#define SLURM_MPI_TYPE   "pmix"
#define SLURM_MPI_OPTION "--mpi=pmix"

/*
 * Ask srun for its list of plugins. RAYTRAIN_ENOTSUP, with that list, if the plugin
 * that a step with these arguments (may be NULL) would use is not in it, or is for
 * another interface than PMIx. If srun does not answer, or its answer is not
 * understood, nothing is rejected.
 */
int slurm_mpi_check(const char *srun_args, struct error *err);

/* The same, given the output of `srun --mpi=list`. */
int slurm_mpi_judge(const char *list, const char *srun_args, struct error *err);

#endif
