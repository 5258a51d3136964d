/* rank_facts.h - what one rank knows by itself, gathered on rank 0. */
#ifndef RAYTRAIN_PROBE_RANK_FACTS_H
#define RAYTRAIN_PROBE_RANK_FACTS_H

#include <jansson.h>

#include "comm/comm.h"
#include "wireup/wireup.h"

/* COLLECTIVE: the object of the nodes' first ranks, and of all ranks, become "nodes" and
 * "ranks" of `report` on rank 0. */
int rank_facts_gather(struct comm *comm, const struct world *world, const char *run_dir,
                      json_t *report, struct error *err);

/* COLLECTIVE: a value of each node's first rank, put as `key` into the objects of nodes
 * on rank 0. The reference is taken. */
int rank_facts_add(struct comm *comm, const struct world *world, const char *key,
                   json_t *value, json_t *report, struct error *err);

/* COLLECTIVE: a value of each rank, put as `key` into the objects of ranks on rank 0. The
 * reference is taken. */
int rank_facts_each(struct comm *comm, const char *key, json_t *value, json_t *report,
                    struct error *err);

#endif
