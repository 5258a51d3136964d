/*
 * namespace.c - read the ranks of a group, and write the maps and facts that libpmix
 * needs. pmix_host.c passes them to it.
 */
#include "pmix/namespace.h"

#include <pmix_server.h>

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/argv.h"

/* ---- The group ---- */

static int wrong(struct error *err, const char *what, const char *list)
{
    return error_set(err, RAYTRAIN_EINVAL, "PMIx server: %s: \"%.200s\"", what, list);
}

static int hosts_read(const char *list, struct pmix_group *g, struct error *err)
{
    size_t room = 2;

    for (const char *at = list; *at; at++)
        room += *at == ',';
    g->hosts = calloc(room, sizeof *g->hosts);
    if (!g->hosts)
        return error_no_memory(err);
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");

        if (!(g->hosts[g->n_nodes++] = strndup(at, n)))
            return error_no_memory(err);
        at += n + (at[n] == ',');
    }
    return g->n_nodes > 0 ? 0 : wrong(err, "no nodes", list);
}

/* Parse the number at *at, and advance *at. -1: there is none. */
static int rank_read(const char **at)
{
    char *end;
    long rank;

    if (**at < '0' || **at > '9')
        return -1;
    errno = 0;
    rank = strtol(*at, &end, 10);
    *at = end;
    return errno || rank >= INT_MAX ? -1 : (int)rank;
}

static int rank_enter(struct pmix_group *g, int rank, int node, int local)
{
    if (rank < 0 || rank >= g->size || g->node_of[rank] >= 0)
        return -1;
    g->node_of[rank] = node;
    g->local_of[rank] = local;
    return 0;
}

static int ranks_read(const char *list, struct pmix_group *g, struct error *err)
{
    const char *at = list;
    int node = 0, local = 0;

    for (int i = 0; i < g->size; i++) {
        if (rank_enter(g, rank_read(&at), node, local++) < 0)
            return wrong(err, "not the ranks of a group", list);
        if (*at == ';') {
            node++;
            local = 0;
        }
        at += *at != '\0';
    }
    if (*at || node + 1 != g->n_nodes)
        return wrong(err, "not as many nodes as names", list);
    return 0;
}

static int ranks_room(const char *list, struct pmix_group *g, struct error *err)
{
    g->size = 1;
    for (const char *at = list; *at; at++)
        g->size += *at == ',' || *at == ';';
    g->node_of = malloc((size_t)g->size * sizeof *g->node_of);
    g->local_of = malloc((size_t)g->size * sizeof *g->local_of);
    g->ranks = strdup(list);
    if (!g->node_of || !g->local_of || !g->ranks)
        return error_no_memory(err);
    for (int r = 0; r < g->size; r++)
        g->node_of[r] = -1;
    return 0;
}

int pmix_group_make(const char *hosts, const char *ranks, int node,
                    struct pmix_group *out, struct error *err)
{
    *out = (struct pmix_group){.node = node};
    if (hosts_read(hosts, out, err) == 0 && ranks_room(ranks, out, err) == 0 &&
        ranks_read(ranks, out, err) == 0) {
        if (node >= 0 && node < out->n_nodes)
            return 0;
        wrong(err, "there is no such node", hosts);
    }
    pmix_group_clear(out);
    return -1;
}

void pmix_group_clear(struct pmix_group *g)
{
    argv_free(g->hosts);
    free(g->node_of);
    free(g->local_of);
    free(g->ranks);
    *g = (struct pmix_group){.size = 0};
}

int pmix_group_local_size(const struct pmix_group *g)
{
    int n = 0;

    for (int r = 0; r < g->size; r++)
        n += g->node_of[r] == g->node;
    return n;
}

/* ---- Its description ---- */

struct fact {
    const char *key;
    const void *value;
    pmix_data_type_t type;
};

static void facts_load(pmix_info_t *info, const struct fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_LOAD(&info[i], facts[i].key, facts[i].value, facts[i].type);
}

/* The facts about one rank, as one PMIX_PROC_DATA. */
static pmix_status_t rank_describe(const struct pmix_group *g, int r, pmix_info_t *info)
{
    pmix_rank_t rank = (pmix_rank_t)r;
    uint16_t local = (uint16_t)g->local_of[r];
    uint32_t node = (uint32_t)g->node_of[r], zero = 0;
    bool spawned = false;
    const struct fact facts[] = {
        {PMIX_RANK, &rank, PMIX_PROC_RANK},
        {PMIX_LOCAL_RANK, &local, PMIX_UINT16},
        {PMIX_NODE_RANK, &local, PMIX_UINT16},
        {PMIX_NODEID, &node, PMIX_UINT32},
        {PMIX_APPNUM, &zero, PMIX_UINT32},
        {PMIX_SPAWNED, &spawned, PMIX_BOOL},
        {PMIX_HOSTNAME, g->hosts[node], PMIX_STRING},
    };
    const size_t n = sizeof facts / sizeof *facts;

    PMIX_LOAD_KEY(info->key, PMIX_PROC_DATA);
    PMIX_DATA_ARRAY_CREATE(info->value.data.darray, n, PMIX_INFO);
    if (!info->value.data.darray)
        return PMIX_ERR_NOMEM;
    info->value.type = PMIX_DATA_ARRAY;
    if (!info->value.data.darray->array)
        return PMIX_ERR_NOMEM;
    facts_load(info->value.data.darray->array, facts, n);
    return PMIX_SUCCESS;
}

/* The strings that PMIx expects to be prepared. */
struct maps {
    char *nodes, *ranks, *peers;
};

static void maps_clear(struct maps *m)
{
    free(m->nodes);
    free(m->ranks);
    free(m->peers);
}

/* "0,1": the ranks of this node; malloc'ed, NULL if out of memory. */
static char *peers_list(const struct pmix_group *g)
{
    const char *at = g->ranks;

    for (int node = 0; node < g->node; node++)
        at = strchr(at, ';') + 1;
    return strndup(at, strcspn(at, ";"));
}

static pmix_status_t maps_make(const struct pmix_group *g, struct maps *m)
{
    char *hosts = NULL;
    pmix_status_t rc = PMIX_ERR_NOMEM;
    size_t n = 1;

    *m = (struct maps){.peers = peers_list(g)};
    for (int i = 0; i < g->n_nodes; i++)
        n += strlen(g->hosts[i]) + 1;
    hosts = calloc(1, n);
    if (hosts && m->peers) {
        char *end = hosts;

        for (int i = 0; i < g->n_nodes; i++)
            end += sprintf(end, i ? ",%s" : "%s", g->hosts[i]);
        rc = PMIx_generate_regex(hosts, &m->nodes);
        if (rc == PMIX_SUCCESS)
            rc = PMIx_generate_ppn(g->ranks, &m->ranks);
    }
    free(hosts);
    return rc;
}

static pmix_status_t group_describe(const struct pmix_group *g, const struct maps *m,
                                    const char *nspace, const char *dir,
                                    pmix_info_t **info, size_t *n)
{
    uint32_t size = (uint32_t)g->size, local = (uint32_t)pmix_group_local_size(g),
             node = (uint32_t)g->node, n_nodes = (uint32_t)g->n_nodes;
    pmix_status_t rc = PMIX_SUCCESS;
    const struct fact facts[] = {
        {PMIX_UNIV_SIZE, &size, PMIX_UINT32},
        {PMIX_JOB_SIZE, &size, PMIX_UINT32},
        {PMIX_LOCAL_SIZE, &local, PMIX_UINT32},
        {PMIX_MAX_PROCS, &size, PMIX_UINT32},
        {PMIX_LOCAL_PEERS, m->peers, PMIX_STRING},
        {PMIX_NODE_MAP, m->nodes, PMIX_REGEX},
        {PMIX_PROC_MAP, m->ranks, PMIX_REGEX},
        {PMIX_NODEID, &node, PMIX_UINT32},
        {PMIX_NUM_NODES, &n_nodes, PMIX_UINT32},
        {PMIX_JOBID, nspace, PMIX_STRING},
        {PMIX_TMPDIR, dir, PMIX_STRING},
        {PMIX_NSDIR, dir, PMIX_STRING},
    };
    const size_t n_facts = sizeof facts / sizeof *facts;

    *n = n_facts + (size_t)g->size;
    PMIX_INFO_CREATE(*info, *n);
    if (!*info)
        return PMIX_ERR_NOMEM;
    facts_load(*info, facts, n_facts);
    for (int r = 0; rc == PMIX_SUCCESS && r < g->size; r++)
        rc = rank_describe(g, r, &(*info)[n_facts + (size_t)r]);
    return rc;
}

pmix_status_t pmix_group_describe(const struct pmix_group *g, const char *nspace,
                                  const char *dir, pmix_info_t **info, size_t *n)
{
    struct maps maps;
    pmix_status_t rc = maps_make(g, &maps);

    *info = NULL;
    *n = 0;
    if (rc == PMIX_SUCCESS)
        rc = group_describe(g, &maps, nspace, dir, info, n);
    maps_clear(&maps);
    return rc;
}
