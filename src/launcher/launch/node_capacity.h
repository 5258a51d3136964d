/*
 * node_capacity.h - what placement.c and its refusals share: how many workers one node
 * has room for, and what bounds that.
 */
#ifndef RAYTRAIN_LAUNCH_NODE_CAPACITY_H
#define RAYTRAIN_LAUNCH_NODE_CAPACITY_H

#include "launch/placement.h"

enum placement_limit { LIMIT_NONE, LIMIT_TYPE, LIMIT_GPUS, LIMIT_CPUS, LIMIT_MEMORY };

int placement_room(const struct scaling_config *scaling,
                   const struct node_resources *node, int cpu_share,
                   enum placement_limit *limit);

/* The strategy could place only `placed` workers. Always -1, RAYTRAIN_EFIT. */
int placement_refuse(const struct scaling_config *scaling, const struct resources *have,
                     int placed, struct error *err);

#endif
