/*
 * allocation.h - takes an allocation if there is none: salloc runs the same command
 * again inside it, and this process waits for salloc.
 *
 * Requests to stop are passed on. The exit status is salloc's, if that is the command's
 * own: salloc also exits with 0 if the command was killed. Then the records of the run
 * decide.
 */
#ifndef RAYTRAIN_TRAIN_ALLOCATION_H
#define RAYTRAIN_TRAIN_ALLOCATION_H

#include "train/trainer.h"

struct allocation_end {
    int exit_status; /* for this process to end with */
    bool settled;    /* by the records, because the status is not the command's own */
    bool saved;      /* the run has a checkpoint */
    bool cut_off;    /* the command ended before the run did, without a stop request */
};

/* 0: this process is already in an allocation: continue. 1: the command has run in a
 * new one, and *end says how that ended. -1: no allocation can be taken. */
int allocation_run(const struct trainer *trainer, char *const argv[],
                   struct allocation_end *end, struct error *err);

/* The same for any command: 1 with salloc's wait status, and whether a stop was
 * requested meanwhile. */
int allocation_take(const struct launcher_ops *launcher,
                    const struct allocation_request *request, int *wait_status,
                    bool *asked, struct error *err);
/* The allocation that a run started by the command argv asks for. */
struct allocation_request allocation_request_of(const struct trainer *trainer,
                                                char *const argv[]);

/* The end, from salloc's wait status, whether a stop was requested, and the run's
 * records. */
struct allocation_end allocation_judge(int wait_status, bool asked,
                                       enum run_standing standing);

#endif
