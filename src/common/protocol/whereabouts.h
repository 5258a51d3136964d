/*
 * whereabouts.h - where the ranks of an attempt say that they are: the file
 * "whereabouts" in its log directory. A rank has a line of WHEREABOUTS_SLOT bytes there
 * for each kind of word that it may leave: a collective call, its own number, how many
 * calls it has made up to this one, and how often it has written this line. All zeros:
 * it has said nothing.
 *
 * The launcher makes the file, in its full size and sparse, before the workers start
 * (journal.h says why it must not grow). Each node has WHEREABOUTS_NODE_BYTES of it, so
 * that no page of storage ever has bytes of two nodes, and storage that writes pages
 * back whole loses none.
 */
#ifndef RAYTRAIN_PROTOCOL_WHEREABOUTS_H
#define RAYTRAIN_PROTOCOL_WHEREABOUTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define WHEREABOUTS_SLOT 64
#define WHEREABOUTS_NODE_BYTES                                                         \
    262144                      /* room for 1365 ranks; further ones are not heard */
#define WHEREABOUTS_CALL_MAX 15 /* bytes of a call's name; more are cut */
#define WHEREABOUTS_FILE     "whereabouts"

enum whereabouts_kind {
    WHEREABOUTS_WAITING, /* it has waited for long (rank/collective_wait.h) */
    WHEREABOUTS_ASKED,   /* it was asked (rank/stack_trace.h) */
    WHEREABOUTS_TOLD,    /* it received SIGTERM (rank/stop.h) */
    WHEREABOUTS_KINDS
};

struct whereabouts {
    char call[WHEREABOUTS_CALL_MAX + 1];
    int64_t calls; /* -1: it has said nothing */
    int64_t times; /* it has written */
};

/* Where a rank writes. */
struct whereabouts_place {
    char path[PATH_MAX]; /* "": nowhere */
    int rank, node, local_rank;
    int64_t times[WHEREABOUTS_KINDS];
};

/* The launcher: the file, for so many nodes with at most so many ranks each. */
int whereabouts_create(const char *log_dir, int nodes, int ranks_per_node,
                       struct error *err);

void whereabouts_place(struct whereabouts_place *place, const char *log_dir, int rank,
                       int node, int local_rank);
/* Write a rank's line. Async-signal-safe. 0, or -1 and errno. */
int whereabouts_write(struct whereabouts_place *place, enum whereabouts_kind kind,
                      const char *call, int64_t calls);

/* What `size` ranks have written; malloc'ed. A file that is missing or unreadable is
 * one in which no rank has written. NULL without memory. */
struct whereabouts *whereabouts_read(const char *log_dir, enum whereabouts_kind kind,
                                     int size);
/* Has no rank below that of `place` said that it has come to this call? Reads no
 * further than to the first one that has. */
bool whereabouts_is_lowest(const struct whereabouts_place *place,
                           enum whereabouts_kind kind, const char *call, int64_t calls);

#endif
