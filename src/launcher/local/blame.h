/*
 * blame.h - from the ends of the workers to the one that is told to the user. A
 * pure part of the local launcher.
 *
 * When one worker dies, the others often fail within the same millisecond, because they
 * lost it; and the kernel may show us their end first. So the first failure that we see
 * stands only until there is stronger evidence: a worker that was killed by a signal
 * (not ours) is rather the cause than one that left with a status, and who called
 * PMIx_Abort has told the cause.
 */
#ifndef RAYTRAIN_LOCAL_BLAME_H
#define RAYTRAIN_LOCAL_BLAME_H

#include <stdbool.h>

#include "launch/launcher.h"

struct blame {
    int evidence;  /* how strong it is; 0: nobody has failed */
    bool killed;   /* SIGKILL was sent to all: who dies of it is not to blame */
    bool must_end; /* the group cannot go on: kill it */
    struct launch_outcome outcome;
};

void blame_init(struct blame *b);

/* A worker has ended, wait_status as of waitpid; deserted: without leaving the group that
 * it had joined, so that even an exit status of 0 is a failure. */
void blame_worker(struct blame *b, int rank, int wait_status, bool deserted);
/* A worker has called PMIx_Abort. */
void blame_abort(struct blame *b, int rank, int status, const char *msg);
/* No worker, but something that ends them all. */
void blame_nobody(struct blame *b, int sig, const char *why);

#endif
