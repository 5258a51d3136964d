/*
 * wireup.c - the PMIx client of a worker.
 *
 * Fences (sharing.h) are made by one thread at a time: by the bridge's only while the
 * main thread is inside an MPI call that all ranks make.
 */
#include "config.h"

#include "wireup/wireup.h"

#include <inttypes.h>
#include <pmix.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "util/fault.h"
#include "wireup/child_server.h"
#include "wireup/env_scope.h"
#include "wireup/pmi_bridge.h"
#include "wireup/process_mapping.h"
#include "wireup/sharing.h"
#include "wireup/shm_room.h"

#define EXCHANGE_MAX ((size_t)64 * 1024)

/* A key that was exchanged, and how often: PMIx keeps the first value of a key, so each
 * exchange gets a PMIx key of its own. The same on every rank, since an exchange is
 * collective. */
struct exchanged {
    struct exchanged *next;
    unsigned times;
    char key[];
};

struct wireup {
    pmix_proc_t me;
    struct world world;
    int *node_of;
    char *mapping;
    struct exchanged *exchanged;
    struct pmi_bridge *bridge, *child_bridge;
    struct child_server *child_server;
    atomic_bool mpi_starts;          /* the MPI library of this process */
    char group[32], child_group[40]; /* for PMI-1 */
    char child_killed[256];          /* why */
};

static int pmix_fail(struct error *err, const char *what, pmix_status_t rc)
{
    return error_set(err, RAYTRAIN_ECOMM, "%s: %s", what, PMIx_Error_string(rc));
}

/* ---- The place in the world ---- */

static int world_size(struct wireup *w, int expected, struct error *err)
{
    pmix_value_t *value = NULL;
    pmix_proc_t all;
    pmix_status_t rc;
    uint32_t size;

    PMIX_LOAD_PROCID(&all, w->me.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (rc != PMIX_SUCCESS)
        return pmix_fail(err, "PMIx does not report the number of workers", rc);
    PMIX_VALUE_GET_NUMBER(rc, value, size, uint32_t);
    PMIX_VALUE_RELEASE(value);
    if (rc != PMIX_SUCCESS)
        return pmix_fail(err, "PMIx reports a number of workers that is not a number",
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

/* The name by which the resource manager knows a rank's node; malloc'ed. NULL: it does
 * not say. */
static char *host_of(const struct wireup *w, pmix_rank_t rank)
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

/* The resource manager's name of this node, or else the machine's own. */
static void world_host(struct wireup *w)
{
    struct world *world = &w->world;
    char *host = host_of(w, w->me.rank);

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
        all[n] = (struct rank_host){.host = host_of(w, (pmix_rank_t)r), .rank = r};
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

static int nodes_find(struct wireup *w, struct error *err)
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

static pmix_status_t client_start(pmix_proc_t *me)
{
    struct env_scope scope = {.n = 0};
    pmix_status_t rc;

    env_scope_set_hwloc(&scope);
    rc = PMIx_Init(me, NULL, 0);
    env_scope_end(&scope);
    return rc;
}

/* Do the comma-separated lists a and b have a word in common? */
static bool words_meet(const char *a, const char *b)
{
    for (size_t n; *a; a += n + (a[n] == ',')) {
        n = strcspn(a, ",");
        for (const char *at = b; n > 0 && *at;) {
            size_t m = strcspn(at, ",");

            if (m == n && strncmp(a, at, n) == 0)
                return true;
            at += m + (at[m] == ',');
        }
    }
    return false;
}

/* Why PMIx_Init failed, as far as that can be known: its own message says little. */
static int client_refused(pmix_status_t rc, struct error *err)
{
    const char *said = PMIx_Error_string(rc), *asked = getenv("PMIX_MCA_psec");
    const char *offered = getenv("PMIX_SECURITY_MODE"); /* by the server */

    if (offered && asked && asked[0] != '^' && !words_meet(asked, offered))
        return error_set(err, RAYTRAIN_ECOMM,
                         "PMIx_Init: %s. The PMIx server of this node has the security "
                         "modules (psec) \"%s\", and PMIX_MCA_psec=%s in the "
                         "environment names none of them: unset it, or name one",
                         said, offered, asked);
    if (offered && rc != PMIX_ERR_UNREACH)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "PMIx_Init: %s. This worker's PMIx (%.24s) and the server of "
            "this node cannot work together: their builds differ, or "
            "they have no security module (psec) in common; the server has "
            "\"%s\". Set PMIX_MCA_psec=native, or name the matching "
            "plugin of Slurm, such as --srun-args=--mpi=pmix_v4; srun "
            "--mpi=list shows them",
            said, PMIx_Get_version(), offered);
    return error_set(err, RAYTRAIN_ECOMM,
                     "PMIx_Init: %s. The PMIx server of this node (Slurm's, or that "
                     "of raytrain-run) does not answer; is PMIX_NAMESPACE inherited "
                     "from a program that has ended?",
                     said);
}

/* An MPI library may name files after its group. The namespace is a secret, with which
 * a process of another user could join, so the group has its hash. */
static void groups_name(struct wireup *w)
{
    uint64_t hash = XXH3_64bits(w->me.nspace, strlen(w->me.nspace));

    snprintf(w->group, sizeof w->group, "raytrain-%016" PRIx64, hash);
    snprintf(w->child_group, sizeof w->child_group, "%s-child", w->group);
}

int wireup_init(int expected_size, struct wireup **out, struct error *err)
{
    struct wireup *w;
    pmix_status_t rc;

    *out = NULL;
    /* Without a server PMIx_Init makes a group of one, which would hide the cause. */
    if (!getenv("PMIX_NAMESPACE"))
        return error_set(
            err, RAYTRAIN_ECOMM,
            "this worker finds no PMIx server (PMIX_NAMESPACE is not set). "
            "Workers are started by raytrain-run; under Slurm their step "
            "needs --mpi=pmix, which is Slurm's plugin mpi_pmix.so "
            "(package slurm-wlm-basic-plugins on Debian)");
    w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the wireup");
    rc = client_start(&w->me);
    if (rc != PMIX_SUCCESS) {
        free(w);
        return client_refused(rc, err);
    }
    if (world_size(w, expected_size, err) < 0 || nodes_find(w, err) < 0) {
        wireup_finalize(w);
        return -1;
    }
    world_host(w);
    groups_name(w);
    *out = w;
    return 0;
}

const struct world *wireup_world(const struct wireup *w)
{
    return &w->world;
}

/* ---- Sharing bytes ---- */

static int blobs_share(struct wireup *w, struct error *err)
{
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, w->me.nspace, PMIX_RANK_WILDCARD);
    return sharing_fence(&all, 1, err);
}

static int blob_get(struct wireup *w, int rank, const char *key, char **data, size_t *n,
                    struct error *err)
{
    pmix_proc_t peer;

    PMIX_LOAD_PROCID(&peer, w->me.nspace, (pmix_rank_t)rank);
    return sharing_get(&peer, key, data, n, err);
}

static struct exchanged *exchanged_find(struct wireup *w, const char *key)
{
    for (struct exchanged *x = w->exchanged; x; x = x->next)
        if (strcmp(x->key, key) == 0)
            return x;
    return NULL;
}

static struct exchanged *exchanged_add(struct wireup *w, const char *key)
{
    size_t n = strlen(key) + 1;
    struct exchanged *x = calloc(1, sizeof *x + n);

    if (!x)
        return NULL;
    memcpy(x->key, key, n);
    x->next = w->exchanged;
    w->exchanged = x;
    return x;
}

static int exchange_key(char name[PMIX_MAX_KEYLEN + 1], const char *key, unsigned time,
                        struct error *err)
{
    int n = snprintf(name, PMIX_MAX_KEYLEN + 1, "raytrain.%u.%s", time, key);

    if (n < 0 || n > PMIX_MAX_KEYLEN)
        return error_set(err, RAYTRAIN_EINVAL, "an exchange's key is too long");
    return 0;
}

int wireup_exchange(struct wireup *w, const char *key, const void *data, size_t n,
                    struct error *err)
{
    char name[PMIX_MAX_KEYLEN + 1];
    struct exchanged *x = exchanged_find(w, key);

    if (n > EXCHANGE_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "an exchange of %zu bytes; at most %zu are possible", n,
                         EXCHANGE_MAX);
    if (!x)
        x = exchanged_add(w, key);
    if (!x)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to exchange '%s'", key);
    if (exchange_key(name, key, x->times, err) < 0 ||
        sharing_put(name, data, n, err) < 0 || blobs_share(w, err) < 0)
        return error_prefix(err, "exchange of '%s' between workers", key);
    x->times++;
    return 0;
}

int wireup_peer_get(struct wireup *w, int rank, const char *key, void **data, size_t *n,
                    struct error *err)
{
    const struct exchanged *x = exchanged_find(w, key);
    char name[PMIX_MAX_KEYLEN + 1], *bytes;

    *data = NULL;
    *n = 0;
    if (rank < 0 || rank >= w->world.size)
        return error_set(err, RAYTRAIN_EINVAL, "there is no rank %d of %d", rank,
                         w->world.size);
    if (!x || x->times == 0)
        return error_set(err, RAYTRAIN_ENOTFOUND, "'%s' has not been exchanged", key);
    if (exchange_key(name, key, x->times - 1, err) < 0 ||
        blob_get(w, rank, name, &bytes, n, err) < 0)
        return -1;
    *data = bytes;
    return 0;
}

/* ---- The PMI bridge ---- */

static void round_key(char name[PMIX_MAX_KEYLEN + 1], unsigned round)
{
    snprintf(name, PMIX_MAX_KEYLEN + 1, "raytrain-pmi.%u", round);
}

static int bridge_share(void *arg, unsigned round, const char *data, size_t n,
                        struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    round_key(key, round);
    if (sharing_put(key, data, n, err) < 0)
        return -1;
    return blobs_share(arg, err);
}

static int bridge_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                        struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    round_key(key, round);
    return blob_get(arg, rank, key, data, n, err);
}

static void bridge_abort(void *arg, int exit_status, const char *message)
{
    struct wireup *w = arg;
    char text[512];

    snprintf(text, sizeof text, "%s", message);
    if (atomic_load(&w->mpi_starts))
        shm_room_blame(text, sizeof text);
    wireup_abort(w, exit_status, text);
}

int wireup_bridge_start(struct wireup *w, struct error *err)
{
    static const struct pmi1_ops ops = {
        .share = bridge_share,
        .fetch = bridge_fetch,
        .abort = bridge_abort,
    };
    struct pmi1_config config = {
        .rank = w->world.rank,
        .size = w->world.size,
        .kvsname = w->group,
        .mapping = w->mapping,
        .ops = &ops,
        .arg = w,
    };

    atomic_store(&w->mpi_starts, true);
    return pmi_bridge_start(&config, &w->bridge, err);
}

void wireup_bridge_hide(struct wireup *w)
{
    atomic_store(&w->mpi_starts, false);
    pmi_bridge_hide();
}

void wireup_bridge_stop(struct wireup *w)
{
    pmi_bridge_stop(w->bridge);
    w->bridge = NULL;
}

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
    return sharing_put(key, data, n, err) < 0 ? -1 : blobs_share(arg, err);
}

static int child_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                       struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    child_key(key, round);
    return blob_get(arg, rank, key, data, n, err);
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (int node = 0; rc == 0 && node < w->world.n_nodes; node++) {
        char *host = node == w->world.node_rank
                         ? strdup(w->world.host)
                         : host_of(w, (pmix_rank_t)leaders[node]);

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
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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

/* ---- The end ---- */

void wireup_abort(struct wireup *w, int exit_status, const char *message)
{
    (void)w;
    /* the process ends here: there is no caller to return an error to */
    if (message)
        dprintf(STDERR_FILENO, "raytrain: %s\n", message);
    PMIx_Abort(exit_status, message ? message : "", NULL, 0);
    _exit(exit_status);
}

/* PMIx counts its initialisations. An MPI library that speaks PMIx itself has made one
 * of its own, and is never finalized (backend/mpi_backend.c): finalize for both, or the
 * server takes the end of this process for a crash. */
static void client_end(void)
{
    do {
        if (PMIx_Finalize(NULL, 0) != PMIX_SUCCESS)
            return;
    } while (PMIx_Initialized());
}

void wireup_finalize(struct wireup *w)
{
    if (!w)
        return;
    wireup_bridge_stop(w);
    pmi_bridge_stop(w->child_bridge);
    (void)wireup_server_stop_child(w);
    client_end();
    while (w->exchanged) {
        struct exchanged *x = w->exchanged;

        w->exchanged = x->next;
        free(x);
    }
    free(w->node_of);
    free(w->mapping);
    free(w);
}
