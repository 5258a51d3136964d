/*
 * rank_status.h - the rank status file of an attempt, "whereabouts" in its log
 * directory: where each rank is. For each kind of message, a rank has a line of
 * RANK_STATUS_SLOT bytes: a collective call, its own number, the number of calls up to
 * this one, and how often it has written this line. All zeros: nothing was written.
 *
 * The launcher creates the file, in full size and sparse, before the workers start (it
 * must not grow: see journal.h). Each node has RANK_STATUS_NODE_BYTES of it, so that no
 * page of storage has bytes of two nodes, and storage that writes back whole pages
 * loses none.
 */
#ifndef RAYTRAIN_PROTOCOL_RANK_STATUS_H
#define RAYTRAIN_PROTOCOL_RANK_STATUS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define RANK_STATUS_SLOT       64
#define RANK_STATUS_NODE_BYTES 262144 /* room for 1024 ranks; others cannot write */
#define RANK_STATUS_CALL_MAX   15     /* bytes of a call's name; the rest is cut */
#define RANK_STATUS_FILE       "whereabouts"

enum rank_status_kind {
    RANK_STATUS_WAITING, /* it has been waiting for a while (rank/collective_wait.h) */
    RANK_STATUS_ASKED,   /* it was asked by a signal (rank/stack_trace.h) */
    RANK_STATUS_SIGTERM, /* it received SIGTERM (rank/stop.h) */
    RANK_STATUS_STOP,    /* it was asked to stop, and does not die with its parent */
    RANK_STATUS_KINDS
};

struct rank_status {
    char call[RANK_STATUS_CALL_MAX + 1];
    int64_t calls; /* -1: nothing was written */
    int64_t times; /* how often it was written */
};

/* A rank's place in the file. */
struct rank_status_place {
    char path[PATH_MAX]; /* "": none */
    int rank, node, local_rank;
    int64_t times[RANK_STATUS_KINDS];
};

/* The launcher: create the file for these numbers of nodes, and of ranks of a node at most. */
int rank_status_create(const char *log_dir, int nodes, int ranks_per_node,
                       struct error *err);

void rank_status_place(struct rank_status_place *place, const char *log_dir, int rank,
                       int node, int local_rank);
/* Write a rank's line. Async-signal-safe. 0, or -1 and errno. */
int rank_status_write(struct rank_status_place *place, enum rank_status_kind kind,
                      const char *call, int64_t calls);

/* What `size` ranks have written; malloc'ed. If the file is missing or unreadable, no
 * rank has written. NULL without memory. */
struct rank_status *rank_status_read(const char *log_dir, enum rank_status_kind kind,
                                     int size);
/* Has rank 0 written? One read, however many ranks there are. */
bool rank_status_first_wrote(const char *log_dir, enum rank_status_kind kind);
/* Is the rank of `place` the lowest one that has written that it is in this call? Reads
 * up to the first lower one. */
bool rank_status_is_lowest(const struct rank_status_place *place,
                           enum rank_status_kind kind, const char *call, int64_t calls);

#endif
