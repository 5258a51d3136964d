/*
 * blame.h - decides which ended worker is reported as the cause of a failure. It makes
 * no system calls.
 *
 * When one worker dies, the others often fail within the same millisecond, because they
 * have lost it; and the kernel may report their end first. So the first failure counts
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
    bool killed;   /* SIGKILL was sent to all workers: it is no longer evidence */
    bool must_end; /* the group cannot continue: kill it */
    struct launch_outcome outcome;
};

void blame_init(struct blame *b);

/* A worker has ended, with the wait_status of waitpid(2). deserted: it had joined the
 * group and not left it properly, so even exit status 0 is a failure. */
void blame_worker(struct blame *b, int rank, int wait_status, bool deserted);
/* A worker has called PMIx_Abort. */
void blame_abort(struct blame *b, int rank, int status, const char *msg);
/* An event that ends all workers, and is not a worker's fault. */
void blame_no_worker(struct blame *b, int sig, const char *why);

#endif
