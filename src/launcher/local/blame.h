/*
 * blame.h - which of the workers that have ended is reported as the cause of a failure.
 * A pure part of the local launcher.
 *
 * When one worker dies, the others often fail within the same millisecond, because they
 * have lost it; and the kernel may report their end first. So the first failure stands
 * only until there is stronger evidence: a worker that was killed by a signal (not
 * ours) is more likely the cause than one that exited with a status, and a worker that
 * called PMIx_Abort has stated the cause.
 */
#ifndef RAYTRAIN_LOCAL_BLAME_H
#define RAYTRAIN_LOCAL_BLAME_H

#include <stdbool.h>

#include "launch/launcher.h"

struct blame {
    int evidence;  /* how strong it is; 0: nothing has failed */
    bool killed;   /* SIGKILL was sent to all workers: it is not evidence any more */
    bool must_end; /* the group cannot continue: kill it */
    struct launch_outcome outcome;
};

void blame_init(struct blame *b);

/* A worker has ended, wait_status as of waitpid; deserted: it had joined the group and
 * has not left it in order, so that even an exit status of 0 is a failure. */
void blame_worker(struct blame *b, int rank, int wait_status, bool deserted);
/* A worker has called PMIx_Abort. */
void blame_abort(struct blame *b, int rank, int status, const char *msg);
/* Something that ends all workers, and is not the fault of any. */
void blame_no_worker(struct blame *b, int sig, const char *why);

#endif
