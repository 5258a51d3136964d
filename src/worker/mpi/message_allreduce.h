/*
 * message_allreduce.h - an allreduce as a state machine over MPI point-to-point
 * messages: it is started, and advanced as often as its owner likes; nothing in it ever
 * waits.
 *
 * Why not MPI_Iallreduce: for small messages it costs several times what the messages
 * themselves cost, and what MPI's own operations make of NaN differs between ranks.
 *
 * The buffer is cut into chunks, a few of which are under way at a time. A small chunk
 * goes by recursive doubling (every rank has all of it after log2(size) exchanges), a
 * large one by recursive halving and doubling (Rabenseifner): each rank sums up its
 * part and hands it round. Which elements are combined in which order depends on n and
 * the number of ranks alone.
 *
 * A meeting is an allreduce of ranks that may have come for different things. It always
 * goes by recursive doubling, whose messages are between the same ranks whatever is in
 * them; their tags say what the sender has come for, and a receiver takes any tag. A
 * rank that sees another tag or size than its own sends empty messages from then on,
 * with a tag that says so: after the last exchange every rank knows. In the good case
 * nothing is sent or copied that an allreduce would not send or copy.
 */
#ifndef RAYTRAIN_MPI_MESSAGE_ALLREDUCE_H
#define RAYTRAIN_MPI_MESSAGE_ALLREDUCE_H

#include <mpi.h>

#include "mpi/combine.h"

/* What all reductions on one communicator share: buffers to receive into, kept for the
 * next, and the count that gives each reduction its own message tags. */
struct mpi_reduction;

struct mpi_reducer {
    MPI_Comm handle;
    int rank, size;
    unsigned started;
    struct mpi_reduction *idle; /* a list */
};

void mpi_reducer_init(struct mpi_reducer *r, MPI_Comm handle, int rank, int size);
/* No reduction may be under way. */
void mpi_reducer_clear(struct mpi_reducer *r);

/* Start to combine buf[0..n) in place. The same order on all ranks. */
int mpi_reduction_start(struct mpi_reducer *r, void *buf, size_t n,
                        const struct reduction_kind *kind, struct comm_request **out,
                        struct error *err);

/*
 * The same, where it is not known that the ranks have come for the same: `call` is what
 * this one has come for, 0 to MPI_MEETING_CALLS - 1. At least one byte and at most
 * COMM_MEET_BYTES. *same is valid once the request is done; it must stay until then. No
 * other reduction may be under way.
 */
#define MPI_MEETING_CALLS 1024

int mpi_meeting_start(struct mpi_reducer *r, int call, void *buf, size_t n,
                      const struct reduction_kind *kind, bool *same,
                      struct comm_request **out, struct error *err);

#endif
