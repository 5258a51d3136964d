/*
 * horovod_backend.c - Horovod over gloo: its variables, and the store through which its
 * processes find each other, in a thread of rank 0's worker (http_store.c).
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
 * the order of the nodes. */
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

static int local_size(const struct seat *seats, int size, int node)
{
    int n = 0;

    for (int r = 0; r < size; r++)
        n += seats[r].node == node;
    return n;
}

/* A name that all processes of a node have, and those of other nodes do not; host names
 * may not be unique. */
static const char *host_name(const struct seat *seat)
{
    return seat->address;
}

int horovod_variables(const struct rendezvous *r, int rank, char ***v,
                      struct error *err)
{
    const struct seat *seats = r->seats;
    int local = seats[rank].local_rank;
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"RANK", rank},
        {"SIZE", r->size},
        {"LOCAL_RANK", local},
        {"LOCAL_SIZE", local_size(seats, r->size, seats[rank].node)},
        {"CROSS_RANK", cross_rank(seats, r->size, rank)},
        {"CROSS_SIZE", cross_size(seats, r->size, local)},
        {"GLOO_RENDEZVOUS_PORT", seats[0].port},
    };

    if (strchr(seats[0].address, ':'))
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "the client of Horovod connects to IPv4 addresses only, and the "
            "address of rank 0's node is %s; give the nodes IPv4 addresses, "
            "or train with --backend torch",
            seats[0].address);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (argv_appendf(v, err, "HOROVOD_%s=%d", numbers[i].name, numbers[i].value) <
            0)
            return -1;
    if (argv_append(v, "HOROVOD_CONTROLLER=gloo", err) < 0 ||
        argv_append(v, "HOROVOD_CPU_OPERATIONS=gloo", err) < 0 ||
        argv_appendf(v, err, "HOROVOD_HOSTNAME=%s", host_name(&seats[rank])) < 0 ||
        argv_appendf(v, err, "HOROVOD_GLOO_RENDEZVOUS_ADDR=%s", seats[0].address) < 0)
        return -1;
    if (!r->interface[0])
        return 0;
    return framework_default(v, err, "HOROVOD_GLOO_IFACE", r->interface);
}

/* ---- The store ---- */

struct horovod_server {
    struct http_store *store;
    const struct rendezvous *rendezvous; /* its seats have the nodes' addresses */
    union address here;                  /* where it listens */
    int *cross;                          /* the members of each cross group */
};

static int host_members(const struct rendezvous *r, const char *host)
{
    int n = 0;

    for (int i = 0; i < r->size; i++)
        n += strcmp(host_name(&r->seats[i]), host) == 0;
    return n;
}

/* The groups of a training: "global", with an underscore before Horovod 0.20; "local_"
 * and the name of the host; "cross_" and the local rank. Others belong to sets of
 * processes that the script makes. */
static int group_members(const void *arg, const char *scope)
{
    const struct horovod_server *s = arg;
    const struct rendezvous *r = s->rendezvous;
    char *end;
    long local;

    if (strcmp(scope, "global") == 0 || strcmp(scope, "global_") == 0)
        return r->size;
    if (strncmp(scope, "local_", 6) == 0)
        return host_members(r, scope + 6);
    if (strncmp(scope, "cross_", 6) != 0)
        return 0;
    local = strtol(scope + 6, &end, 10);
    return end > scope + 6 && *end == '\0' && local >= 0 && local < r->size
               ? s->cross[local]
               : 0;
}

/*
 * Horovod's client has no password. For a process on this node the kernel knows the
 * user; from other nodes only those of the run may connect, and the user cannot be
 * checked.
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

static void server_free(void *server)
{
    struct horovod_server *s = server;

    http_store_stop(s->store);
    free(s->cross);
    free(s);
}

static int store_server_start(struct framework *f, struct error *err)
{
    struct horovod_server *s = calloc(1, sizeof *s);
    int listening = f->rendezvous.socket;
    socklen_t n = sizeof s->here;

    if (!s)
        return error_no_memory(err);
    f->server = s;
    f->server_free = server_free;
    s->rendezvous = &f->rendezvous;
    s->cross = calloc((size_t)f->rendezvous.size, sizeof *s->cross);
    if (!s->cross)
        return error_no_memory(err);
    for (int i = 0; i < f->rendezvous.size; i++)
        s->cross[f->rendezvous.seats[i].local_rank]++;
    if (getsockname(listening, &s->here.any, &n) < 0)
        return error_set(err, RAYTRAIN_ECOMM, "getsockname: %s", strerror(errno));
    f->rendezvous.socket = -1;
    return http_store_start(listening, group_members, client_admit, s, &s->store, err);
}

/* ---- The slots ---- */

static int horovod_fill(struct framework *f, const struct backend *b, struct error *err)
{
    if (b->world->rank == 0 && store_server_start(f, err) < 0)
        return -1;
    return horovod_variables(&f->rendezvous, b->world->rank, &f->variables, err);
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
