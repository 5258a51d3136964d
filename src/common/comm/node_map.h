/*
 * node_map.h - which rank is on which node, and which ranks keep copies for others.
 */
#ifndef RAYTRAIN_COMM_NODE_MAP_H
#define RAYTRAIN_COMM_NODE_MAP_H

#include "comm/comm.h"

struct node_place {
    int node, local; /* its node, and its index among the ranks of the node */
};

struct node_map {
    int rank, size, n_nodes;
    struct node_place *of; /* of every rank */
    int *ranks;            /* number of ranks of a node */
    int *first;            /* for a node, the index in `on` of its first rank */
    int *on;               /* the ranks, by node and place */
};

/* COLLECTIVE: every rank passes its own place. */
int node_map_make(struct comm *comm, int node, int local, struct node_map *map,
                  struct error *err);
void node_map_clear(struct node_map *map);

int node_map_rank(const struct node_map *map, int node, int local);
/* The rank of the next node that keeps a copy of what `rank` has, round robin if that
 * node has fewer ranks; -1 if there is only one node. */
int node_map_keeper(const struct node_map *map, int rank);
/* Does this node have rank's part, as the rank's own node or as the node of its
 * keeper? */
bool node_map_has(const struct node_map *map, int node, int rank, bool copies);

#endif
