/*
 * wireup.h - a worker finds its group: PMIx client, and the PMI bridge on top of it for
 * MPI libraries that speak only the PMI-1 wire protocol.
 */
#ifndef RAYTRAIN_WIREUP_WIREUP_H
#define RAYTRAIN_WIREUP_WIREUP_H

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
