/* rendezvous.c - chooses an address of rank 0's node that all nodes reach, and holds
 * ports. */
#include "config.h"

#include "backend/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/greeting.h"

/* How long a node tries to reach the addresses of rank 0's node, and after the first
 * success, others that are better. If no address has been reached by all nodes, they
 * try again with the whole limit. */
#define TRY_LIMIT_S    5.0
#define TRY_PATIENCE_S 0.5

/* ---- Several nodes ---- */

static int candidates_listen(struct invitation *invitation, struct greeter **g,
                             struct error *err)
{
    struct local_address candidates[ADDRESSES_MAX];
    union address at[ADDRESSES_MAX];
    struct ifaddrs *list;
    int n;

    if (getifaddrs(&list) < 0)
        return error_set(err, RAYTRAIN_ECOMM,
                         "cannot list the network interfaces of this node: %s",
                         strerror(errno));
    n = addresses_choose(list, getenv("GLOO_SOCKET_IFNAME"), candidates);
    freeifaddrs(list);
    for (int i = 0; i < n; i++)
        at[i] = candidates[i].address;
    if (greeter_start(at, n, invitation, g, err) < 0)
        return -1;
    if (invitation->n > 0)
        return 0;
    greeter_stop(*g);
    *g = NULL;
    return error_set(err, RAYTRAIN_ECOMM,
                     "this node has no address at which other nodes could reach it: no "
                     "network interface is up, except loopback");
}

/* COLLECTIVE: the addresses that all nodes reach. *lacking: the lowest rank whose node
 * reaches none; -1: none. */
static int reached_by_all(struct comm *c, uint64_t mine, uint64_t *all, int *lacking,
                          struct error *err)
{
    uint64_t *each = malloc((size_t)c->size * sizeof *each);
    int rc = comm_agree(c, each ? 0 : error_no_memory(err), err);

    if (rc == 0)
        rc = c->ops->allgather(c, &mine, sizeof mine, each, err);
    *all = UINT64_MAX;
    *lacking = -1;
    for (int r = c->size - 1; rc == 0 && r >= 0; r--) {
        *all &= each[r];
        if (each[r] == 0)
            *lacking = r;
    }
    free(each);
    return rc;
}

/* "10.0.0.1, fd00::1" */
static void invitation_text(const struct invitation *invitation, char *text,
                            size_t room)
{
    char one[INET6_ADDRSTRLEN];

    text[0] = '\0';
    for (int i = 0; i < invitation->n; i++) {
        size_t n = strlen(text);

        address_text(&invitation->at[i], one);
        snprintf(text + n, room - n, i ? ", %s" : "%s", one);
    }
}

static int none_reached(const struct invitation *invitation, int lacking,
                        struct error *err)
{
    char text[ADDRESSES_MAX * (INET6_ADDRSTRLEN + 2)];

    invitation_text(invitation, text, sizeof text);
    if (lacking >= 0)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "the node of rank %d reaches none of the addresses of rank 0's node (%s) "
            "over TCP, within %.0f s: is there a firewall between the nodes?",
            lacking, text, TRY_LIMIT_S);
    return error_set(err, RAYTRAIN_ECOMM,
                     "none of the addresses of rank 0's node (%s) is reached by all "
                     "other nodes, though each of them reaches some",
                     text);
}

/* COLLECTIVE: the first address that all nodes reach. */
static int winner_find(struct comm *c, const struct world *world,
                       const struct invitation *invitation, union address *winner,
                       struct error *err)
{
    bool tries = world->node_rank != 0 && world->local_rank == 0;
    uint64_t mine = UINT64_MAX, all = 0;
    int lacking = -1;

    for (int round = 0; round < 2 && all == 0; round++) {
        if (tries)
            mine = greeting_try(invitation, TRY_LIMIT_S,
                                round == 0 ? TRY_PATIENCE_S : TRY_LIMIT_S);
        if (reached_by_all(c, mine, &all, &lacking, err) < 0)
            return -1;
    }
    for (int i = 0; i < invitation->n; i++) {
        if (all & UINT64_C(1) << i) {
            *winner = invitation->at[i];
            address_set_port(winner, 0);
            return 0;
        }
    }
    return none_reached(invitation, lacking, err);
}

static int several_nodes(struct comm *c, const struct world *world,
                         union address *winner, struct error *err)
{
    struct invitation invitation;
    struct greeter *greeter = NULL;
    int rc = 0;

    memset(&invitation, 0, sizeof invitation);
    if (c->rank == 0)
        rc = candidates_listen(&invitation, &greeter, err);
    rc = comm_agree(c, rc, err);
    if (rc == 0)
        rc = c->ops->bcast(c, &invitation, sizeof invitation, 0, err);
    if (rc == 0)
        rc = winner_find(c, world, &invitation, winner, err);
    greeter_stop(greeter);
    return rc;
}

/* ---- One node ---- */

/* The loopback address: IPv4, unless the kernel has only IPv6. */
static int one_node(struct comm *c, union address *winner, struct error *err)
{
    int fd;

    memset(winner, 0, sizeof *winner);
    if (c->rank == 0) {
        winner->v4.sin_family = AF_INET;
        winner->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = address_listen(winner);
        if (fd >= 0) {
            close(fd);
        } else {
            memset(winner, 0, sizeof *winner);
            winner->v6.sin6_family = AF_INET6;
            winner->v6.sin6_addr = in6addr_loopback;
        }
        address_set_port(winner, 0);
    }
    return c->ops->bcast(c, winner, sizeof *winner, 0, err);
}

/* ---- The place of each rank ---- */

/* This node's address, and the interface that has it. */
static int here_find(const struct world *world, const union address *winner,
                     struct rendezvous *out, struct seat *seat, struct error *err)
{
    union address mine = *winner;
    struct ifaddrs *list;

    if (world->node_rank != 0 && address_towards(winner, &mine) < 0)
        return error_set(err, RAYTRAIN_ECOMM, "this node has no route to rank 0's: %s",
                         strerror(errno));
    address_text(&mine, seat->address);
    if (getifaddrs(&list) == 0) {
        address_interface(list, &mine, out->interface);
        freeifaddrs(list);
    }
    return 0;
}

static int port_take(enum rendezvous_ports ports, const union address *winner, int rank,
                     struct rendezvous *out, struct seat *seat, struct error *err)
{
    union address at = *winner;

    if (ports == PORT_OF_NONE || (rank != 0 && ports != PORT_OF_EACH_RANK))
        return 0;
    if (ports == RANK_0_LISTENS) {
        out->socket = address_listen(&at);
        seat->port = address_port(&at);
    } else {
        out->socket = port_hold(&seat->port);
    }
    if (out->socket >= 0)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM, "this node has no free TCP port: %s",
                     strerror(errno));
}

static int seats_share(struct comm *c, const struct world *world,
                       enum rendezvous_ports ports, const union address *winner,
                       struct rendezvous *out, struct error *err)
{
    struct seat mine;
    int rc = 0;

    memset(&mine, 0, sizeof mine);
    mine.node = world->node_rank;
    mine.local_rank = world->local_rank;
    out->size = c->size;
    out->seats = calloc((size_t)c->size, sizeof *out->seats);
    if (!out->seats)
        rc = error_no_memory(err);
    if (rc == 0)
        rc = here_find(world, winner, out, &mine, err);
    if (rc == 0)
        rc = port_take(ports, winner, c->rank, out, &mine, err);
    rc = comm_agree(c, rc, err);
    return rc == 0 ? c->ops->allgather(c, &mine, sizeof mine, out->seats, err) : -1;
}

int rendezvous_make(struct comm *c, const struct world *world,
                    enum rendezvous_ports ports, struct rendezvous *out,
                    struct error *err)
{
    union address winner;
    int rc;

    *out = (struct rendezvous){.socket = -1};
    rc = world->n_nodes == 1 ? one_node(c, &winner, err)
                             : several_nodes(c, world, &winner, err);
    if (rc == 0)
        rc = seats_share(c, world, ports, &winner, out, err);
    if (rc < 0)
        rendezvous_clear(out);
    return rc;
}

void rendezvous_clear(struct rendezvous *r)
{
    if (r->socket >= 0)
        close(r->socket);
    free(r->seats);
    *r = (struct rendezvous){.socket = -1};
}
