/*
 * replica_cleanup.h - removes the replicas of checkpoints in the memory of nodes after
 * a run has ended.
 */
#ifndef RAYTRAIN_TRAIN_REPLICA_CLEANUP_H
#define RAYTRAIN_TRAIN_REPLICA_CLEANUP_H

#include "train/run.h"

/*
 * Workers that reach their end together have removed the replicas that they kept in
 * memory (checkpoint_config.replicas). If they did not, remove these here and, if the
 * launcher has other nodes, by a short step on those. Takes a few seconds at most.
 * Never fails: the next start of the run removes what is left.
 */
void replica_cleanup(const struct run *run);

#endif
