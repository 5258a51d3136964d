/*
 * horovod_backend.c - Horovod over gloo: its variables, and the store that its processes
 * use to find each other, in a thread of rank 0's worker.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/framework.h"
#include "backend/http_store.h"
#include "util/argv.h"
#include "util/tcp_peer.h"

/* Horovod's "cross" group of a local rank has its processes on all nodes, numbered in
 * the order of the nodes; the "local" group of a number has those whose number in their
 * cross group this is. If the nodes have equally many processes, that are the processes
 * of a node. */
static int cross_rank(const struct seat *seats, int size, int rank)
{
    int n = 0;

    for (int r = 0; r < size; r++)
        n += seats[r].local_rank == seats[rank].local_rank &&
             seats[r].node < seats[rank].node;
    return n;
}

static int cross_size(const struct seat *seats, int size, int local_rank)
{
    int n = 0;

    for (int r = 0; r < size; r++)
        n += seats[r].local_rank == local_rank;
    return n;
}

static int local_size(const struct seat *seats, int size, int cross)
{
    int n = 0;

    for (int r = 0; r < size; r++)
        n += cross_rank(seats, size, r) == cross;
    return n;
}

int horovod_variables(const struct rendezvous *r, int rank, const char *host, char ***v,
                      struct error *err)
{
    const struct seat *seats = r->seats;
    int cross = cross_rank(seats, r->size, rank), local = seats[rank].local_rank;
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"RANK", rank},
        {"SIZE", r->size},
        {"LOCAL_RANK", local},
        {"LOCAL_SIZE", local_size(seats, r->size, cross)},
        {"CROSS_RANK", cross},
        {"CROSS_SIZE", cross_size(seats, r->size, local)},
        {"GLOO_RENDEZVOUS_PORT", seats[0].port},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (argv_appendf(v, err, "HOROVOD_%s=%d", numbers[i].name, numbers[i].value) <
            0)
            return -1;
    if (argv_append(v, "HOROVOD_CONTROLLER=gloo", err) < 0 ||
        argv_append(v, "HOROVOD_CPU_OPERATIONS=gloo", err) < 0 ||
        argv_appendf(v, err, "HOROVOD_HOSTNAME=%s", host) < 0 ||
        argv_appendf(v, err,
                     strchr(seats[0].address, ':') ? "HOROVOD_GLOO_RENDEZVOUS_ADDR=[%s]"
                                                   : "HOROVOD_GLOO_RENDEZVOUS_ADDR=%s",
                     seats[0].address) < 0)
        return -1;
    if (!r->interface[0])
        return 0;
    return framework_default(v, err, "HOROVOD_GLOO_IFACE", r->interface);
}

/* ---- The store ---- */

/* The members of each group, by its number. */
struct groups {
    int size;
    int *local, *cross;
};

struct horovod_server {
    struct http_store *store;
    const struct rendezvous *rendezvous; /* whose seats have the nodes' addresses */
    union address here;                  /* at which it listens */
    struct groups groups;
};

static int group_members(const void *arg, const char *scope)
{
    const struct groups *g = &((const struct horovod_server *)arg)->groups;
    const char *number = strchr(scope, '_');
    int n = number && number[1] ? atoi(number + 1) : -1;

    if (strcmp(scope, "global_") == 0)
        return g->size;
    if (n < 0 || n >= g->size)
        return 0;
    if (strncmp(scope, "local_", 6) == 0)
        return g->local[n];
    return strncmp(scope, "cross_", 6) == 0 ? g->cross[n] : 0;
}

/*
 * Horovod's client has no password. On this node the kernel knows whose process it is;
 * from another one come those of the run's nodes, where it cannot be known.
 */
static bool client_admit(const void *arg, const struct sockaddr *peer)
{
    const struct horovod_server *s = arg;
    char text[INET6_ADDRSTRLEN];
    union address from;
    bool here = false;
    uid_t uid;

    switch (tcp_peer_find(peer, &s->here.any, &uid)) {
    case TCP_PEER_FOUND:
        return uid == geteuid();
    case TCP_PEER_ELSEWHERE:
        break;
    case TCP_PEER_UNKNOWN:
        here = true;
    }
    memset(&from, 0, sizeof from);
    from.any.sa_family = peer->sa_family;
    memcpy(&from, peer, address_length(&from));
    address_text(&from, text);
    for (int i = 0; i < s->rendezvous->size; i++)
        if ((here || s->rendezvous->seats[i].node != s->rendezvous->seats[0].node) &&
            strcmp(s->rendezvous->seats[i].address, text) == 0)
            return true;
    return false;
}

static int groups_count(struct groups *g, const struct rendezvous *r, struct error *err)
{
    g->size = r->size;
    g->local = calloc((size_t)r->size, sizeof *g->local);
    g->cross = calloc((size_t)r->size, sizeof *g->cross);
    if (!g->local || !g->cross)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (int i = 0; i < r->size; i++) {
        g->local[cross_rank(r->seats, r->size, i)]++;
        g->cross[r->seats[i].local_rank]++;
    }
    return 0;
}

static void server_free(void *server)
{
    struct horovod_server *s = server;

    http_store_stop(s->store);
    free(s->groups.local);
    free(s->groups.cross);
    free(s);
}

static int server_start(struct framework *f, struct error *err)
{
    struct horovod_server *s = calloc(1, sizeof *s);
    int listening = f->rendezvous.socket;
    socklen_t n = sizeof s->here;

    if (!s)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    f->server = s;
    f->server_free = server_free;
    s->rendezvous = &f->rendezvous;
    if (groups_count(&s->groups, &f->rendezvous, err) < 0)
        return -1;
    if (getsockname(listening, &s->here.any, &n) < 0)
        return error_set(err, RAYTRAIN_ECOMM, "getsockname: %s", strerror(errno));
    f->rendezvous.socket = -1;
    return http_store_start(listening, group_members, client_admit, s, &s->store, err);
}

/* ---- The slots ---- */

static int horovod_fill(struct framework *f, const struct backend *b, struct error *err)
{
    if (b->world->rank == 0 && server_start(f, err) < 0)
        return -1;
    return horovod_variables(&f->rendezvous, b->world->rank, b->world->host,
                             &f->variables, err);
}

static int horovod_training_start(struct backend *b, struct error *err)
{
    return framework_training_start(b, RANK_0_LISTENS, horovod_fill, err);
}

const struct backend_ops backend_horovod = {
    .on_start = framework_start,
    .on_training_start = horovod_training_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
