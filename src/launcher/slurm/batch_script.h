/* batch_script.h - a batch_request as a script for sbatch. */
#ifndef RAYTRAIN_SLURM_BATCH_SCRIPT_H
#define RAYTRAIN_SLURM_BATCH_SCRIPT_H

#include "launch/batch_request.h"
#include "launch/placement.h"

/* The options of sbatch, an argument vector. fits: as for slurm_allocate_argv(). */
int slurm_batch_options(const struct batch_request *request,
                        const struct placement *fits, char ***options,
                        struct error *err);

/* The script, malloc'ed, with these options in its head. RAYTRAIN_EUSAGE for an option
 * that cannot be written in a script. */
int slurm_batch_script(const struct batch_request *request, char *const *options,
                       char **script, struct error *err);

/* The name of the job's log as sbatch expands it. */
void slurm_batch_log(const struct batch_request *request, const char *id, char *out,
                     size_t size);

/* The partitions that the request names, malloc'ed, in *out; NULL: none. */
int slurm_batch_partitions(const struct batch_request *request, char **out,
                           struct error *err);
/* The same for its time limit, as sbatch takes it. */
int slurm_batch_time(const struct batch_request *request, char **out,
                     struct error *err);

#endif
