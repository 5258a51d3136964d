/* salloc.h - take an allocation, and run the same command in it. */
#ifndef RAYTRAIN_SLURM_SALLOC_H
#define RAYTRAIN_SLURM_SALLOC_H

#include "launch/placement.h"
#include "util/child.h"

/* Outside an allocation, start `salloc ... argv`, so that the same command runs again
 * inside one: *salloc is that child, and dies with this process. Inside, *salloc is
 * CHILD_INIT, and an allocation that was taken this way is given back however this
 * process ends. */
int slurm_allocate(const struct scaling_config *scaling, const char *job_name,
                   char *const argv[], struct child *salloc, struct error *err);

#endif
