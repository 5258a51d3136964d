/*
 * cluster_fit.h - could a request ever fit into a partition, with all of its nodes free?
 * What does not would wait in the queue for ever, or be refused without numbers.
 */
#ifndef RAYTRAIN_SLURM_CLUSTER_FIT_H
#define RAYTRAIN_SLURM_CLUSTER_FIT_H

#include "launch/placement.h"

/* Into these nodes, spare ones included. An empty *plan, which is to be cleared in any
 * case: the nodes are not known. RAYTRAIN_EFIT with the numbers. */
int slurm_fit(const struct scaling_config *scaling, const struct resources *have,
              struct placement *plan, struct error *err);

/*
 * Into one of these partitions (with commas between them; NULL: the default one), as
 * sinfo lists them. RAYTRAIN_EFIT also names a partition that has room, if there is one.
 * RAYTRAIN_ENOTSUP if sinfo does not answer within seconds.
 */
int slurm_cluster_fit(const struct scaling_config *scaling, const char *partitions,
                      struct placement *plan, struct error *err);
/* The same, with the output of sinfo. */
int slurm_cluster_fit_text(const char *text, const struct scaling_config *scaling,
                           const char *partitions, struct placement *plan,
                           struct error *err);

#endif
