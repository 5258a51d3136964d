/*
 * message_allreduce.h - an allreduce as a state machine over MPI point-to-point
 * messages: the caller starts it, then advances it at any time; it never waits.
 *
 * Why not MPI_Iallreduce: for small messages it takes several times as long as the
 * messages themselves, and how MPI's own operations treat NaN differs between ranks.
 *
 * The buffer is cut into chunks, a few of which are in progress at a time. A small
 * chunk is reduced by recursive doubling (every rank has all of it after log2(size)
 * exchanges), a large one by recursive halving and doubling (Rabenseifner): each rank
 * sums its own part, and the parts are then gathered. Which elements are combined in
 * which order depends on n and the number of ranks alone.
 *
 * A matched allreduce is one by ranks that may have made different calls. It always
 * uses recursive doubling, whose messages are between the same ranks whatever they
 * contain; their tags name the sender's call, and a receiver takes any tag. A rank that
 * sees another tag or size than its own sends empty messages from then on, with a tag
 * for "different calls": after the last exchange every rank knows. If the calls match,
 * it costs the same messages and copies as a plain allreduce.
 */
#ifndef RAYTRAIN_MPI_MESSAGE_ALLREDUCE_H
#define RAYTRAIN_MPI_MESSAGE_ALLREDUCE_H

#include <mpi.h>

#include "mpi/combine.h"

struct mpi_reduction;

/* What all reductions on one communicator share: receive buffers, which are kept for
 * the next one, and the count that gives each reduction its own message tags. */

struct mpi_reducer {
    MPI_Comm handle;
    int rank, size;
    unsigned started;
    struct mpi_reduction *idle; /* a list */
};

void mpi_reducer_init(struct mpi_reducer *r, MPI_Comm handle, int rank, int size);
/* No reduction may be under way. */
void mpi_reducer_clear(struct mpi_reducer *r);

/* Start to combine buf[0..n) in place. All ranks start reductions in the same order. */
int mpi_reduction_start(struct mpi_reducer *r, void *buf, size_t n,
                        const struct reduction_kind *kind, struct comm_request **out,
                        struct error *err);

/*
 * The same for ranks that may make different calls: `call` is this rank's, 0 to
 * MPI_MATCHED_CALLS - 1. The data have 1 to COMM_MATCHED_BYTES bytes. *same is valid
 * once the request is done, and must exist until then. No other reduction may be in
 * progress.
 */
#define MPI_MATCHED_CALLS 1024

int mpi_matched_start(struct mpi_reducer *r, int call, void *buf, size_t n,
                      const struct reduction_kind *kind, bool *same,
                      struct comm_request **out, struct error *err);

#endif
