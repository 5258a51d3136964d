/*
 * finish.h - lets workers that were asked to stop make their last report and checkpoint
 * even if raytrain-run is killed meanwhile.
 *
 * Each launcher has a helper process, a keeper, that kills the workers when
 * raytrain-run dies. With an order, which it gets once all workers have been sent the
 * request to stop, it waits first. The lock of the run comes with the order, so that
 * another raytrain-run does not start beside the workers.
 */
#ifndef RAYTRAIN_LAUNCH_FINISH_H
#define RAYTRAIN_LAUNCH_FINISH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run/run_lock.h"

/* How long workers may take if the configuration sets no limit. */
#define FINISH_MAX_S 600

/* ---- In raytrain-run ---- */

struct finish_terms {
    /* after the death of this process; 0: the workers are killed at once */
    int seconds;
    const char *run_dir; /* borrowed, as lock */
    const struct run_lock *lock;
};

/* Send an order over the SOCK_SEQPACKET socket of a keeper, without waiting. `seconds`
 * replaces that of the terms; 0 takes an order back. -1 and errno. */
int finish_order(int socket, const struct finish_terms *terms, int seconds);

/* ---- In a keeper ---- */

struct finish {
    int seconds;
    char run_dir[PATH_MAX];
    int lock_fd;           /* what was sent; -1: nothing */
    struct run_lock *lock; /* held by this process */
    double until;          /* clock_now() */
};

/* Call it first: ignores the signals that ask a process to end. */
void finish_init(struct finish *f);
/* Wait for the next message of raytrain-run. Returns the size of a message other than
 * an order, at most `size`; 0 after an order; -1 if raytrain-run is dead. */
ssize_t finish_receive(struct finish *f, int socket, void *message, size_t size);
/* Call it after the parent, raytrain-run, has died. False: kill the workers, since
 * there was no order, or another process has taken the run meanwhile. */
bool finish_begin(struct finish *f, pid_t parent);
/* False: kill the workers now. Their time is over, the lock of the run is lost, or this
 * process was asked to end by SIGINT, or by SIGTERM outside a job. */
bool finish_goes_on(const struct finish *f);
/* The workers are gone: release the run. */
void finish_end(struct finish *f);

#endif
