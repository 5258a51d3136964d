/*
 * wireup_impl.h - inside the wireup of a worker. wireup.c is the PMIx client and its
 * bridge for PMI; world.c has the place of this worker among the others,
 * byte_exchange.c what they give each other, children.c the programs in its children.
 */
#ifndef RAYTRAIN_WIREUP_WIREUP_IMPL_H
#define RAYTRAIN_WIREUP_WIREUP_IMPL_H

#include <pmix.h>
#include <stdatomic.h>

#include "wireup/child_server.h"
#include "wireup/pmi_bridge.h"
#include "wireup/wireup.h"

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

/* -- world.c -- */
int wireup_world_size(struct wireup *w, int expected, struct error *err);
/* The name by which the resource manager knows a rank's node; malloc'ed. NULL: it does
 * not say. */
char *wireup_host_of(const struct wireup *w, pmix_rank_t rank);
/* The resource manager's name of this node, or else the machine's own. */
void wireup_world_host(struct wireup *w);
int wireup_nodes_find(struct wireup *w, struct error *err);

/* -- byte_exchange.c -- */
int wireup_blobs_share(struct wireup *w, struct error *err);
int wireup_blob_get(struct wireup *w, int rank, const char *key, char **data, size_t *n,
                    struct error *err);

#endif
