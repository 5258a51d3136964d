/*
 * cores.h - are there more workers on this node than cores for them?
 */
#ifndef RAYTRAIN_MPI_CORES_H
#define RAYTRAIN_MPI_CORES_H

#include "comm/comm.h"

/*
 * All ranks: do the ranks on the node `node` outnumber the cores that they may run on,
 * taken together? Each may be bound to cores of its own, or all to the same ones, so
 * that one rank alone cannot tell.
 */
int cores_crowded(struct comm *c, int node, bool *crowded, struct error *err);

#endif
