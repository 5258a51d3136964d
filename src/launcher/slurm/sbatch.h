/* sbatch.h - write the script of a batch job, and submit it. */
#ifndef RAYTRAIN_SLURM_SBATCH_H
#define RAYTRAIN_SLURM_SBATCH_H

#include "launch/batch_request.h"

/* Slot of launcher.h. */
int slurm_submit(const struct batch_request *request, bool only_show, char **script,
                 struct batch_ticket *ticket, struct error *err);

/* The id of the job in the output of sbatch --parsable, which may also have warnings:
 * "4711" or "4711;CLUSTER" on a separate line. */
bool slurm_batch_id(const char *text, char id[BATCH_ID_MAX]);

#endif
