/*
 * whereabouts.h - where the ranks of an attempt say that they are: a file in its log
 * directory with one line of WHEREABOUTS_SLOT bytes for each rank, in rank order,
 * "report   12": a collective call, and how many its rank has made up to this one. All
 * zeros where a rank has said nothing.
 *
 * Three such files: "waiting", where a rank has written that has waited for long
 * (worker/waiting.h), "whereabouts", where it has written because it was asked
 * (worker/stack_trace.h), and "told", where it has written that somebody told it to go
 * (worker/stop.h).
 */
#ifndef RAYTRAIN_STORE_WHEREABOUTS_H
#define RAYTRAIN_STORE_WHEREABOUTS_H

#include <stdint.h>

#define WHEREABOUTS_SLOT     32
#define WHEREABOUTS_CALL_MAX 15 /* bytes of a call's name; more are cut */
#define WHEREABOUTS_WAITING  "waiting"
#define WHEREABOUTS_ASKED    "whereabouts"
#define WHEREABOUTS_TOLD     "told"

struct whereabouts {
    char call[WHEREABOUTS_CALL_MAX + 1];
    int64_t calls; /* -1: it has said nothing */
};

/* Write a rank's line into the file. Async-signal-safe. 0, or -1 and errno. */
int whereabouts_write(const char *path, int rank, const char *call, int64_t calls);

/* What `size` ranks have said in log_dir/name; malloc'ed. A file that is not there or
 * cannot be read is one in which nobody has said anything. NULL without memory. */
struct whereabouts *whereabouts_read(const char *log_dir, const char *name, int size);

#endif
