/* rank_facts.h - facts that each rank finds alone, gathered on rank 0. */
#ifndef RAYTRAIN_PROBE_RANK_FACTS_H
#define RAYTRAIN_PROBE_RANK_FACTS_H

#include <jansson.h>

#include "comm/comm.h"
#include "wireup/wireup.h"

/* COLLECTIVE: on rank 0, the objects of the nodes' first ranks become "nodes" of
 * `report`, and those of all ranks "ranks". */
int rank_facts_gather(struct comm *comm, const struct world *world, const char *run_dir,
                      json_t *report, struct error *err);

/* COLLECTIVE: on rank 0, put a value of each node's first rank as `key` into the
 * objects of nodes. Takes the reference. */
int rank_facts_add(struct comm *comm, const struct world *world, const char *key,
                   json_t *value, json_t *report, struct error *err);

/* COLLECTIVE: on rank 0, put a value of each rank as `key` into the objects of ranks.
 * Takes the reference. */
int rank_facts_each(struct comm *comm, const char *key, json_t *value, json_t *report,
                    struct error *err);

#endif
