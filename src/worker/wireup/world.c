/* world.c - which rank this worker is, and on which nodes the others are. */
#include "config.h"

#include "wireup/wireup_impl.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fault.h"
#include "wireup/process_mapping.h"

static int world_fail(struct error *err, const char *what, pmix_status_t rc)
{
    return error_set(err, RAYTRAIN_ECOMM, "%s: %s", what, PMIx_Error_string(rc));
}

int wireup_world_size(struct wireup *w, int expected, struct error *err)
{
    pmix_value_t *value = NULL;
    pmix_proc_t all;
    pmix_status_t rc;
    uint32_t size;

    PMIX_LOAD_PROCID(&all, w->me.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (rc != PMIX_SUCCESS)
        return world_fail(err, "PMIx does not report the number of workers", rc);
    PMIX_VALUE_GET_NUMBER(rc, value, size, uint32_t);
    PMIX_VALUE_RELEASE(value);
    if (rc != PMIX_SUCCESS)
        return world_fail(err, "PMIx reports a number of workers that is not a number",
                          rc);
    if (size != (uint32_t)expected)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "PMIx reports %u workers in this group, but raytrain-run started "
            "%d. Is PMIX_NAMESPACE inherited from another program? "
            "Start raytrain-run outside of any MPI launcher",
            size, expected);
    if (w->me.rank >= size)
        return error_set(err, RAYTRAIN_ECOMM, "PMIx says that this is rank %u of %u",
                         w->me.rank, size);
    w->world.rank = (int)w->me.rank;
    w->world.size = expected;
    return 0;
}

char *wireup_host_of(const struct wireup *w, pmix_rank_t rank)
{
    pmix_value_t *value = NULL;
    pmix_proc_t peer;
    char *host = NULL;

    PMIX_LOAD_PROCID(&peer, w->me.nspace, rank);
    if (PMIx_Get(&peer, PMIX_HOSTNAME, NULL, 0, &value) != PMIX_SUCCESS)
        return NULL;
    if (value->type == PMIX_STRING && value->data.string && value->data.string[0])
        host = strdup(value->data.string);
    PMIX_VALUE_RELEASE(value);
    return host;
}

void wireup_world_host(struct wireup *w)
{
    struct world *world = &w->world;
    char *host = wireup_host_of(w, w->me.rank);

    if (host)
        snprintf(world->host, sizeof world->host, "%s", host);
    else if (gethostname(world->host, sizeof world->host - 1) < 0)
        strcpy(world->host, "localhost");
    free(host);
}

/* Enter `node` for each rank that lives on `host`. */
static void node_enter_peers(struct wireup *w, const char *host, int node)
{
    pmix_proc_t *peers = NULL;
    size_t n = 0;

    if (PMIx_Resolve_peers(host, w->me.nspace, &peers, &n) != PMIX_SUCCESS)
        return;
    for (size_t i = 0; i < n; i++)
        if (peers[i].rank < (pmix_rank_t)w->world.size)
            w->node_of[peers[i].rank] = node;
    PMIX_PROC_FREE(peers, n);
}

static void nodes_resolve(struct wireup *w)
{
    char *hosts = NULL, *save = NULL;
    int node = 0;

    if (fault_point("wireup.resolve", w->world.rank) < 0 ||
        PMIx_Resolve_nodes(w->me.nspace, &hosts) != PMIX_SUCCESS || !hosts)
        return;
    for (char *h = strtok_r(hosts, ",", &save); h; h = strtok_r(NULL, ",", &save))
        node_enter_peers(w, h, node++);
    free(hosts);
}

/* A rank and the name of its node. */
struct rank_host {
    char *host;
    int rank;
};

static int rank_host_compare(const void *a, const void *b)
{
    return strcmp(((const struct rank_host *)a)->host,
                  ((const struct rank_host *)b)->host);
}

/* Ranks whose nodes have the same name are on one node. PMIX_NODEID does not serve:
 * some servers count it differently on each node. This is slower than nodes_resolve(),
 * which asks once a node; it is for servers that cannot resolve peers. */
static void nodes_by_name(struct wireup *w)
{
    int size = w->world.size, n = 0;
    struct rank_host *all = calloc((size_t)size, sizeof *all);

    for (int r = 0; all && r < size; r++) {
        all[n] =
            (struct rank_host){.host = wireup_host_of(w, (pmix_rank_t)r), .rank = r};
        n += all[n].host != NULL;
    }
    if (n == size) {
        qsort(all, (size_t)n, sizeof *all, rank_host_compare);
        for (int i = 0, node = 0; i < n; i++) {
            node += i > 0 && rank_host_compare(&all[i - 1], &all[i]) != 0;
            w->node_of[all[i].rank] = node;
        }
    }
    for (int i = 0; i < n; i++)
        free(all[i].host);
    free(all);
}

/* The first rank whose node is unknown; -1: none. */
static int rank_without_node(const struct wireup *w)
{
    for (int r = 0; r < w->world.size; r++)
        if (w->node_of[r] < 0)
            return r;
    return -1;
}

int wireup_nodes_find(struct wireup *w, struct error *err)
{
    int size = w->world.size;

    w->node_of = malloc((size_t)size * sizeof *w->node_of);
    if (!w->node_of)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %d workers", size);
    for (int r = 0; r < size; r++)
        w->node_of[r] = -1;
    nodes_resolve(w);
    if (rank_without_node(w) >= 0)
        nodes_by_name(w);
    if (rank_without_node(w) >= 0)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "PMIx does not say which node rank %d runs on: the resource "
            "manager's PMIx is too old (raytrain needs version 3 or later)",
            rank_without_node(w));
    if (nodes_renumber(w->node_of, size) >= 0)
        w->mapping = nodes_process_mapping(w->node_of, size);
    if (!w->mapping)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %d workers", size);
    nodes_place(&w->world, w->node_of);
    return 0;
}
