/*
 * wireup_impl.h - inside the wireup of a worker. wireup.c starts and ends it,
 * pmix_client.c is the PMIx client, bridges.c the bridges for PMI; world.c has the
 * place of this worker among the others, byte_exchange.c what they give each other,
 * children.c the PMIx server of programs in their children. rounds.c is for tasks that
 * stay for several attempts.
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

/* The clients of PMI bridges. */
enum bridge_kind { BRIDGE_LIBRARY, BRIDGE_CHILD, BRIDGES };

struct bridge {
    struct wireup *w;
    struct pmi_bridge *pmi; /* NULL: not started */
    char group[40];         /* its name, for PMI-1 */
};

struct wireup {
    pmix_proc_t me;
    struct world world;
    int *node_of;
    char *mapping;
    struct exchanged *exchanged;
    struct bridge bridges[BRIDGES];
    struct child_server *child_server;
    atomic_bool mpi_starts; /* the MPI library of this process */
    char group[32];         /* the name of this group of workers */
    char child_killed[256]; /* why */
};

/* -- pmix_client.c -- */
int wireup_client_start(pmix_proc_t *me, struct error *err);
void wireup_client_end(void);

/* -- bridges.c -- */
void wireup_bridges_stop(struct wireup *w);

/* -- world.c -- */
int wireup_world_size(struct wireup *w, int expected, struct error *err);
/* The name by which the resource manager knows a rank's node; malloc'ed. NULL: it does
 * not say. */
char *wireup_host_of(const struct wireup *w, pmix_rank_t rank);
/* The resource manager's name of this node, or else the machine's own. */
void wireup_world_host(struct wireup *w);
int wireup_nodes_find(struct wireup *w, struct error *err);

/* -- children.c -- */
/* The first rank of each node, in the order of nodes; malloc'ed. NULL without memory. */
int *wireup_leaders_find(const struct wireup *w);

/* -- byte_exchange.c -- */
int wireup_blobs_share(struct wireup *w, struct error *err);
int wireup_blob_get(struct wireup *w, int rank, const char *key, char **data, size_t *n,
                    struct error *err);

#endif
