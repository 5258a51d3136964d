/* mpi_plugins.h - can Slurm here start workers that find each other by PMIx? */
#ifndef RAYTRAIN_SLURM_MPI_PLUGINS_H
#define RAYTRAIN_SLURM_MPI_PLUGINS_H

#include "util/error.h"

/* The kind that a step takes if the user names none. */
#define SLURM_MPI_TYPE   "pmix"
#define SLURM_MPI_OPTION "--mpi=pmix"

/*
 * Ask srun which of its plugins there are. RAYTRAIN_ENOTSUP, and what there is, if the
 * one that a step with these arguments (may be NULL) would use is not among them, or is
 * of another interface than PMIx.
 * Nothing is refused for an answer that cannot be had, or not understood.
 */
int slurm_mpi_check(const char *srun_args, struct error *err);

/* The same for an answer at hand: what `srun --mpi=list` printed. */
int slurm_mpi_judge(const char *list, const char *srun_args, struct error *err);

#endif
