/*
 * node_map.c - make the tables of nodes and ranks from the place of each rank, and
 * check them.
 */
#include "config.h"

#include "comm/node_map.h"

#include <stdlib.h>
#include <string.h>

/* Inconsistent places are a bug, or come from another version. */
static int places_check(struct node_map *map, struct error *err)
{
    for (int r = 0; r < map->size; r++) {
        const struct node_place *p = &map->of[r];

        if (p->node < 0 || p->node >= map->size || p->local < 0 ||
            p->local >= map->size)
            return error_set(err, RAYTRAIN_ECOMM, "rank %d says it is on node %d of %d",
                             r, p->node, map->size);
        if (p->node >= map->n_nodes)
            map->n_nodes = p->node + 1;
        map->ranks[p->node]++;
    }
    for (int n = 0; n < map->n_nodes; n++) {
        if (map->ranks[n] == 0)
            return error_set(err, RAYTRAIN_ECOMM, "no rank says it is on node %d of %d",
                             n, map->n_nodes);
        map->first[n] = n > 0 ? map->first[n - 1] + map->ranks[n - 1] : 0;
    }
    if (map->of[0].local != 0)
        return error_set(err, RAYTRAIN_ECOMM,
                         "rank 0 says it is not the first one on its node");
    for (int r = 0; r < map->size; r++)
        map->on[r] = -1;
    for (int r = 0; r < map->size; r++) {
        const struct node_place *p = &map->of[r];

        if (p->local >= map->ranks[p->node] ||
            map->on[map->first[p->node] + p->local] >= 0)
            return error_set(err, RAYTRAIN_ECOMM,
                             "rank %d says it is rank %d of the %d on node %d", r,
                             p->local, map->ranks[p->node], p->node);
        map->on[map->first[p->node] + p->local] = r;
    }
    return 0;
}

int node_map_make(struct comm *comm, int node, int local, struct node_map *map,
                  struct error *err)
{
    const struct node_place mine = {node, local};
    size_t n = (size_t)comm->size;
    int rc = 0;

    *map = (struct node_map){.rank = comm->rank, .size = comm->size};
    map->of = calloc(n, sizeof *map->of);
    map->ranks = calloc(n, sizeof *map->ranks);
    map->first = calloc(n, sizeof *map->first);
    map->on = calloc(n, sizeof *map->on);
    if (!map->of || !map->ranks || !map->first || !map->on)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &mine, sizeof mine, map->of, err);
    if (rc == 0)
        rc = places_check(map, err);
    if (rc < 0)
        node_map_clear(map);
    return rc;
}

void node_map_clear(struct node_map *map)
{
    free(map->of);
    free(map->ranks);
    free(map->first);
    free(map->on);
    memset(map, 0, sizeof *map);
}

int node_map_rank(const struct node_map *map, int node, int local)
{
    return map->on[map->first[node] + local];
}

int node_map_keeper(const struct node_map *map, int rank)
{
    const struct node_place *p = &map->of[rank];
    int next = (p->node + 1) % map->n_nodes;

    if (map->n_nodes == 1)
        return -1;
    return node_map_rank(map, next, p->local % map->ranks[next]);
}

bool node_map_has(const struct node_map *map, int node, int rank, bool copies)
{
    int keeper = copies ? node_map_keeper(map, rank) : -1;

    return map->of[rank].node == node || (keeper >= 0 && map->of[keeper].node == node);
}
