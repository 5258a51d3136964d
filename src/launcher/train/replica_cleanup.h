/*
 * replica_cleanup.h - a run that has come to an end leaves nothing in the memory of
 * nodes.
 */
#ifndef RAYTRAIN_TRAIN_REPLICA_CLEANUP_H
#define RAYTRAIN_TRAIN_REPLICA_CLEANUP_H

#include "train/worker_group.h"

/*
 * Workers that come to their end together have removed what they kept of checkpoints in
 * memory (checkpoint_config.replicas); where they did not, do it for them: here, and,
 * where the launcher has other nodes, by a short step over these. Takes some seconds at
 * most. Never fails: a node that is gone has no memory, and what is left is found by
 * the run's next start.
 */
void node_memory_clear(const struct worker_group_spec *spec);

#endif
