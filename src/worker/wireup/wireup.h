/*
 * wireup.h - a worker finds its group: PMIx client, and the PMI bridge on top of it for
 * MPI libraries that speak only the PMI-1 wire protocol.
 */
#ifndef RAYTRAIN_WIREUP_WIREUP_H
#define RAYTRAIN_WIREUP_WIREUP_H

#include <stdbool.h>

#include "util/error.h"

/* A worker's place. Ranks are grouped by node in order of first appearance. */
struct world {
    int rank, size;
    int local_rank, local_size;
    int node_rank, n_nodes;
    char host[256];
};

struct wireup;

/*
 * PMIx_Init, and this worker's place. The group's size must be expected_size; else this
 * is RAYTRAIN_ECOMM with both numbers and the likely cause (the step was started
 * without --mpi=pmix, and so on).
 */
int wireup_init(int expected_size, struct wireup **out, struct error *err);
const struct world *wireup_world(const struct wireup *w);
/* The first rank of this node. */
int wireup_leader(const struct wireup *w);

/*
 * Start the PMI bridge: a thread that answers PMI-1 over a socketpair (PMI_FD, PMI_RANK
 * and PMI_SIZE are set for MPI_Init). An MPI library with a PMIx client of its own does
 * not use it, and it costs nothing. Errors inside the thread abort the group through
 * PMIx.
 */
int wireup_bridge_start(struct wireup *w, struct error *err);
/* MPI is up: remove PMI_* from the environment, so that a child of this worker that
 * happens to be an MPI program does not take itself for a rank. */
void wireup_bridge_hide(struct wireup *w);
void wireup_bridge_stop(struct wireup *w); /* after the last MPI call */

/*
 * The same for an MPI program in a child of each rank: *fd is what the child inherits
 * as PMI_FD. The children form a group of their own. A program that calls MPI_Abort, or
 * that cannot be served any longer, is killed: the library waits for that. MPI_Finalize
 * shuts the connection down, so that a child can run one MPI program. Ends with
 * wireup_finalize().
 */
int wireup_bridge_start_child(struct wireup *w, int *fd, struct error *err);
/* Has a program in the child, or in another child of the node, made use of the bridge
 * or of the server (below)? The server of a node is known to its first rank only. */
bool wireup_child_used(const struct wireup *w);
/* Why the program in the child was killed or was not served any longer; NULL: it
 * was. */
const char *wireup_child_killed(const struct wireup *w);

/* One process of each node: give data[0..n), and get those of all nodes, one after the
 * other, in the order of nodes; the caller frees *all. */
typedef int wireup_exchange_nodes(void *arg, const char *data, size_t n, char **all,
                                  size_t *n_all, struct error *err);

/*
 * The same for an MPI program that is a PMIx client, such as one with Open MPI: the
 * children of all ranks are a namespace of their own, with a PMIx server on each node.
 * Its name is the same on all nodes, and a secret. To be called on the first rank of
 * each node. The server's thread calls `exchange`, at the same point of the program on
 * all nodes, unless there is one node only. *variables is what the ranks of this node
 * need in their environment, for each in their order: strings "NAME=VALUE", and an
 * empty one; the caller frees it. Ends with wireup_finalize().
 */
int wireup_server_start_child(struct wireup *w, const char *nspace,
                              wireup_exchange_nodes *exchange, void *arg,
                              char **variables, size_t *n, struct error *err);
/* End it earlier; there may be none. False: its thread is still in `exchange`, and may
 * use arg until this process ends. */
bool wireup_server_stop_child(struct wireup *w);

/* All ranks: exchange a blob of up to 64 KiB by key. get never waits (the fence has
 * collected the data), and returns the key's latest value; the caller frees *data. For
 * backends without MPI, and for rendezvous addresses. */
int wireup_exchange(struct wireup *w, const char *key, const void *data, size_t n,
                    struct error *err);
int wireup_peer_get(struct wireup *w, int rank, const char *key, void **data, size_t *n,
                    struct error *err);

/* End the whole group now, with this exit status. Does not return. */
void wireup_abort(struct wireup *w, int exit_status, const char *message)
    __attribute__((noreturn));
/* PMIx_Finalize and free. NULL is fine. */
void wireup_finalize(struct wireup *w);

#endif
