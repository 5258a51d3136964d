/*
 * shared_allreduce.h - an allreduce in place, without messages: the ranks share a node,
 * and the numbers lie in memory that all of them see (a sealed memfd).
 *
 * Each reduction in such memory goes as follows. Every rank announces that its numbers
 * are ready. When all are, rank r combines the r-th part of all ranks' numbers, in the
 * order of the ranks, and writes the result into every rank's block; no other rank
 * touches that part meanwhile. It then announces that; when all ranks have, the
 * reduction is done. Each element is computed once, so every rank has the same bits,
 * which do not depend on the element's place. (If the results stay with the ranks that
 * combine them, each rank begins with its own numbers, so the place matters.)
 */
#ifndef RAYTRAIN_MPI_SHARED_ALLREDUCE_H
#define RAYTRAIN_MPI_SHARED_ALLREDUCE_H

#include "mpi/combine.h"

struct shared_reducer;

/* COLLECTIVE: memory for n_bytes on every rank (n_bytes is the same on all), and what
 * is needed to reduce in it. -1 on every rank if it is not available. */
int shared_reducer_create(struct comm *c, size_t n_bytes, struct shared_reducer **out,
                          struct error *err);
/* No reduction may be in progress. NULL is fine. */
void shared_reducer_destroy(struct shared_reducer *r);

/* This rank's memory: zeros at first, aligned to 64 bytes. */
void *shared_reducer_data(const struct shared_reducer *r);
/* The file that has the memory of all ranks, and the offset of `data` in it. */
void shared_reducer_file(const struct shared_reducer *r, const void *data,
                         struct comm_file *file);

/*
 * Start to combine n elements at `data` in that memory. All ranks start the same
 * reductions, at the same offsets and in the same order; any number may be pending.
 * Never waits. Advancing one advances all that were started before it.
 */
int shared_reduction_start(struct shared_reducer *r, void *data, size_t n,
                           const struct reduction_kind *kind, struct comm_request **out,
                           struct error *err);

/* The same, but the results stay with the rank that combines them: rank r's part is
 * elements [cuts[r], cuts[r + 1]). */
int shared_reduction_start_parts(struct shared_reducer *r, void *data,
                                 const size_t *cuts, const struct reduction_kind *kind,
                                 struct comm_request **out, struct error *err);

/* Start to copy every rank's parts, which lie in that memory, to all ranks. No
 * reduction may be in progress; `parts` must not change until it is done. */
int shared_gather_start(struct shared_reducer *r, const struct comm_parts parts[],
                        size_t n, struct comm_request **out, struct error *err);

#endif
