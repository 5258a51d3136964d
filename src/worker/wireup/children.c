/*
 * children.c - the PMIx server on each node for MPI programs in children of the workers
 * (child_server.h). Their PMI bridges are in bridges.c.
 */
#include "config.h"

#include "wireup/wireup_impl.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wireup/child_server.h"
#include "wireup/process_mapping.h"

/* In the server's thread; complete before the programs can notice. */
static void server_failed(void *arg, const char *why)
{
    struct wireup *w = arg;

    snprintf(w->child_killed, sizeof w->child_killed, "%s", why);
}

int *wireup_leaders_find(const struct wireup *w)
{
    int *leaders = malloc((size_t)w->world.n_nodes * sizeof *leaders);

    for (int r = w->world.size; leaders && r-- > 0;)
        leaders[w->node_of[r]] = r;
    return leaders;
}

int wireup_leader(const struct wireup *w)
{
    int rank = 0;

    while (w->node_of[rank] != w->world.node_rank)
        rank++;
    return rank;
}

static int hosts_print(const struct wireup *w, FILE *out, struct error *err)
{
    int *leaders = wireup_leaders_find(w), rc = 0;

    if (!leaders)
        return error_no_memory(err);
    for (int node = 0; rc == 0 && node < w->world.n_nodes; node++) {
        char *host = node == w->world.node_rank
                         ? strdup(w->world.host)
                         : wireup_host_of(w, (pmix_rank_t)leaders[node]);

        if (host)
            fprintf(out, node > 0 ? ",%s" : "%s", host);
        else
            rc = error_set(err, RAYTRAIN_ECOMM,
                           "PMIx does not know the name of node %d", node);
        free(host);
    }
    free(leaders);
    return rc;
}

/* "a,b": the names of all nodes; malloc'ed. */
static char *hosts_list(const struct wireup *w, struct error *err)
{
    char *list = NULL;
    size_t n;
    FILE *out = open_memstream(&list, &n);
    int rc = out ? hosts_print(w, out, err) : -1;

    if (out && fclose(out) == 0 && rc == 0)
        return list;
    if (rc == 0 || !out)
        error_no_memory(err);
    free(list);
    return NULL;
}

int wireup_server_start_child(struct wireup *w, const char *nspace,
                              wireup_exchange_nodes *exchange, void *arg,
                              char **variables, size_t *n, struct error *err)
{
    char *hosts = hosts_list(w, err), *ranks = nodes_ranks(w->node_of, w->world.size);
    const struct child_server_config config = {
        .nspace = nspace,
        .hosts = hosts,
        .ranks = ranks,
        .node = w->world.node_rank,
        .local_size = w->world.local_size,
        .exchange = exchange,
        .exchange_arg = arg,
        .failed = server_failed,
        .failed_arg = w,
    };
    int rc = -1;

    *variables = NULL;
    *n = 0;
    if (hosts && !ranks)
        error_no_memory(err);
    if (hosts && ranks)
        rc = child_server_start(&config, &w->child_server, variables, n, err);
    free(hosts);
    free(ranks);
    return rc;
}

bool wireup_server_stop_child(struct wireup *w)
{
    bool ended = child_server_stop(w->child_server);

    w->child_server = NULL;
    return ended;
}

bool wireup_child_used(const struct wireup *w)
{
    const struct pmi_bridge *bridge = w->bridges[BRIDGE_CHILD].pmi;

    return (bridge && pmi_bridge_used(bridge)) ||
           (w->child_server && child_server_used(w->child_server));
}

const char *wireup_child_killed(const struct wireup *w)
{
    return w->child_killed[0] ? w->child_killed : NULL;
}
