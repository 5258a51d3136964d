/*
 * replica_cleanup.h - a run that has ended leaves no replicas of checkpoints in the
 * memory of nodes.
 */
#ifndef RAYTRAIN_TRAIN_REPLICA_CLEANUP_H
#define RAYTRAIN_TRAIN_REPLICA_CLEANUP_H

#include "train/run.h"

/*
 * Workers that reach their end together have removed the replicas that they kept in
 * memory (checkpoint_config.replicas). If they did not, remove these here and, if the
 * launcher has other nodes, by a short step on those. Takes some seconds at most. Never
 * fails: a node that is gone has no memory, and the next start of the run removes what
 * is left.
 */
void replica_cleanup(const struct run *run);

#endif
