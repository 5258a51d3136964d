/*
 * node_exchange.h - an exchange of bytes between nodes, in a thread: only the first
 * rank of each node takes part.
 */
#ifndef RAYTRAIN_BACKEND_NODE_EXCHANGE_H
#define RAYTRAIN_BACKEND_NODE_EXCHANGE_H

#include "comm/comm.h"
#include "wireup/wireup.h"

struct node_exchange {
    struct comm *comm; /* of its own */
    int *leaders;      /* the first rank of each node */
    int n_nodes, node; /* this one */
};

/* COLLECTIVE. */
int node_exchange_make(struct comm *c, const struct world *world,
                       struct node_exchange *out, struct error *err);
/* COLLECTIVE; accepts zeros. */
void node_exchange_clear(struct node_exchange *x);

/* On the first rank of each node: see wireup_exchange_nodes. Sleeps while it waits. */
int node_exchange(void *x, const char *data, size_t n, char **all, size_t *n_all,
                  struct error *err);

#endif
