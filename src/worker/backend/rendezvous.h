/*
 * rendezvous.h - where the ranks of a framework meet: addresses that the nodes can
 * reach, and a TCP port for each rank.
 */
#ifndef RAYTRAIN_BACKEND_RENDEZVOUS_H
#define RAYTRAIN_BACKEND_RENDEZVOUS_H

#include "backend/address.h"
#include "comm/comm.h"
#include "wireup/wireup.h"

/* A rank's place, as all ranks know it. */
struct seat {
    char address[INET6_ADDRSTRLEN]; /* at which other nodes reach its node */
    int port;                       /* on its node; 0: it has none */
    int node, local_rank;
};

struct rendezvous {
    struct seat *seats; /* by rank */
    int size;
    char interface[IF_NAMESIZE]; /* the one with this node's address; "": not known */
    int socket;                  /* holds this rank's port; -1: it has none */
};

enum rendezvous_ports {
    PORT_OF_NONE,      /* the ranks have only an address */
    PORT_OF_RANK_0,    /* rank 0 holds a port, see port_hold() */
    PORT_OF_EACH_RANK, /* each rank holds one */
    RANK_0_LISTENS     /* rank 0 listens, only at its address */
};

/*
 * COLLECTIVE. On one node the address is that of loopback. On several, rank 0's node
 * listens at its addresses for a short time, one rank of each other node tries them
 * all, and the first that every node has reached is rank 0's; the address of another
 * node is the one from which it reaches that. If it fails, it fails on all ranks, and
 * there is nothing to clear.
 */
int rendezvous_make(struct comm *c, const struct world *world,
                    enum rendezvous_ports ports, struct rendezvous *out,
                    struct error *err);
void rendezvous_clear(struct rendezvous *r);

#endif
