/* salloc.h - take an allocation, and run the same command in it. */
#ifndef RAYTRAIN_SLURM_SALLOC_H
#define RAYTRAIN_SLURM_SALLOC_H

#include "launch/allocation_request.h"
#include "util/child.h"

/* Outside an allocation, start `salloc ... COMMAND`, so that the same command runs
 * again inside one: *salloc is that child, and dies with this process. Inside, *salloc
 * is CHILD_INIT, and an allocation that was taken this way is released however this
 * process ends. */
int slurm_allocate(const struct allocation_request *request, struct child *salloc,
                   struct error *err);
/* The command that would be run; NULL inside an allocation. If the cluster answers, its
 * nodes are checked: RAYTRAIN_EFIT. */
int slurm_allocate_command(const struct allocation_request *request, char ***argv,
                           struct error *err);

/* From now on, if this process dies, the workers of its allocation get the time that
 * Slurm gives a cancelled job. */
void slurm_salloc_let_finish(void);

#endif
