/*
 * node_exchange.h - bytes that one process of each node gives to those of all others, in
 * a thread of its own: the first rank of each node takes part, the others do not notice.
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
/* COLLECTIVE; zeros are fine. */
void node_exchange_clear(struct node_exchange *x);

/* The first rank of each node: see wireup_exchange_nodes. Sleeps while it waits. */
int node_exchange(void *x, const char *data, size_t n, char **all, size_t *n_all,
                  struct error *err);

#endif
