/*
 * process_mapping.h - which ranks share a node, and what follows from that. Pure
 * functions of an array node_of[size]: two ranks are on one node if their entries are
 * equal.
 */
#ifndef RAYTRAIN_WIREUP_PROCESS_MAPPING_H
#define RAYTRAIN_WIREUP_PROCESS_MAPPING_H

#include "wireup/wireup.h"

/* Renumber to 0, 1, ... in order of first appearance by rank. Entries are arbitrary
 * numbers >= 0. Returns the number of nodes, or -1 if memory is short. */
int nodes_renumber(int *node_of, int size);

/* From world->rank and size, and a renumbered node_of: all other members of world. */
void nodes_place(struct world *world, const int *node_of);

/*
 * PMI_process_mapping for a renumbered node_of: "(vector,(first,nodes,per_node),...)",
 * blocks of equally filled, consecutive nodes in rank order. The caller frees it; NULL
 * if memory is short.
 */
char *nodes_process_mapping(const int *node_of, int size);

/* The ranks of each node, "0,1;2,3", for a renumbered node_of. The caller frees it;
 * NULL if memory is short. */
char *nodes_ranks(const int *node_of, int size);

#endif
