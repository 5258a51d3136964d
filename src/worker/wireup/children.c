/*
 * children.c - MPI programs in children of the workers: a PMI bridge for each, and a
 * PMIx server on each node (child_server.h).
 */
#include "config.h"

#include "wireup/wireup_impl.h"

#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wireup/child_server.h"
#include "wireup/pmi_bridge.h"
#include "wireup/process_mapping.h"
#include "wireup/sharing.h"

/* ---- The PMI bridge of a child ---- */

static void child_key(char name[PMIX_MAX_KEYLEN + 1], unsigned round)
{
    snprintf(name, PMIX_MAX_KEYLEN + 1, "raytrain-child.%u", round);
}

static int child_share(void *arg, unsigned round, const char *data, size_t n,
                       struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    child_key(key, round);
    return sharing_put(key, data, n, err) < 0 ? -1 : wireup_blobs_share(arg, err);
}

static int child_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                       struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    child_key(key, round);
    return wireup_blob_get(arg, rank, key, data, n, err);
}

/* In the bridge's thread. The reason is complete before the program ends, and read
 * after that. */
static void child_abort(void *arg, int exit_status, const char *message)
{
    struct wireup *w = arg;
    pid_t client = pmi_bridge_client(w->child_bridge);

    snprintf(w->child_killed, sizeof w->child_killed, "%s (status %d)", message,
             exit_status);
    if (client > 0)
        kill(client, SIGKILL);
}

int wireup_bridge_start_child(struct wireup *w, int *fd, struct error *err)
{
    static const struct pmi1_ops ops = {
        .share = child_share,
        .fetch = child_fetch,
        .abort = child_abort,
    };
    struct pmi1_config config = {
        .rank = w->world.rank,
        .size = w->world.size,
        .kvsname = w->child_group,
        .mapping = w->mapping,
        .ops = &ops,
        .arg = w,
    };

    return pmi_bridge_start_child(&config, &w->child_bridge, fd, err);
}

/* ---- The PMIx server of children ---- */

/* In the server's thread; complete before the programs can notice. */
static void server_failed(void *arg, const char *why)
{
    struct wireup *w = arg;

    snprintf(w->child_killed, sizeof w->child_killed, "%s", why);
}

/* The lowest rank on each node; malloc'ed. */
static int *leaders_find(const struct wireup *w)
{
    int *leaders = malloc((size_t)w->world.n_nodes * sizeof *leaders);

    for (int r = w->world.size; leaders && r-- > 0;)
        leaders[w->node_of[r]] = r;
    return leaders;
}

static int hosts_print(const struct wireup *w, FILE *out, struct error *err)
{
    int *leaders = leaders_find(w), rc = 0;

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
    return (w->child_bridge && pmi_bridge_used(w->child_bridge)) ||
           (w->child_server && child_server_used(w->child_server));
}

const char *wireup_child_killed(const struct wireup *w)
{
    return w->child_killed[0] ? w->child_killed : NULL;
}
