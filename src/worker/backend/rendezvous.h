/*
 * rendezvous.h - where the ranks of a framework meet: addresses that the nodes reach,
 * and a TCP port of each rank.
 */
#ifndef RAYTRAIN_BACKEND_RENDEZVOUS_H
#define RAYTRAIN_BACKEND_RENDEZVOUS_H

#include "backend/address.h"
#include "comm/comm.h"
#include "wireup/wireup.h"

/* A rank's place, as all ranks know it. */
struct seat {
    char address[INET6_ADDRSTRLEN]; /* of its node, for the other nodes */
    int port;                       /* on its node; 0: it has none */
    int node, local_rank;
};

struct rendezvous {
    struct seat *seats; /* by rank */
    int size;
    char interface[IF_NAMESIZE]; /* of this node, with its address; "": not known */
    int socket;                  /* of this rank's port; -1: it has none */
};

enum rendezvous_ports {
    PORT_OF_NONE,      /* the ranks have an address alone */
    PORT_OF_RANK_0,    /* rank 0 holds a port, see port_hold() */
    PORT_OF_EACH_RANK, /* each rank holds one */
    RANK_0_LISTENS     /* rank 0 listens, at its address alone */
};

/*
 * All ranks. On one node the address is that of loopback. On several, rank 0's node
 * listens at its addresses for a moment, one rank of each other node tries them all, and
 * the first that every node has reached is rank 0's; another node has the address from
 * which it reaches that one. On failure, on all ranks, there is nothing to clear.
 */
int rendezvous_make(struct comm *c, const struct world *world,
                    enum rendezvous_ports ports, struct rendezvous *out,
                    struct error *err);
void rendezvous_clear(struct rendezvous *r);

#endif
