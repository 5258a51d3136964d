/*
 * cluster_fit.h - could a request fit into a partition if all its nodes were free?
 * Otherwise it would wait in the queue forever, or be refused without numbers.
 */
#ifndef RAYTRAIN_SLURM_CLUSTER_FIT_H
#define RAYTRAIN_SLURM_CLUSTER_FIT_H

#include "launch/placement.h"

/* Plan on these nodes, including spare ones. *plan must be cleared in any case; it is
 * empty if the nodes are not known. RAYTRAIN_EFIT with the numbers. */
int slurm_fit(const struct scaling_config *scaling, const struct resources *have,
              struct placement *plan, struct error *err);

/*
 * Plan in one of these partitions (separated by commas; NULL: the default one), as
 * sinfo lists them. RAYTRAIN_EFIT also names a partition that has room, if any.
 * RAYTRAIN_ENOTSUP if sinfo does not answer within seconds.
 */
int slurm_cluster_fit(const struct scaling_config *scaling, const char *partitions,
                      struct placement *plan, struct error *err);
/* The same, with the output of sinfo. */
int slurm_cluster_fit_text(const char *text, const struct scaling_config *scaling,
                           const char *partitions, struct placement *plan,
                           struct error *err);

#endif
