/*
 * allocation.h - a command that takes an allocation first: the command itself runs
 * inside it, under salloc, and here is where it is waited for.
 *
 * Requests to stop are handed on. How the run has ended is salloc's status, as long as
 * that is the command's own word: salloc ends with 0 also where the command was killed.
 * Then the records of the run decide.
 */
#ifndef RAYTRAIN_TRAIN_ALLOCATION_H
#define RAYTRAIN_TRAIN_ALLOCATION_H

#include "train/trainer.h"

struct allocation_end {
    int exit_status; /* for this process to end with */
    bool settled;    /* by the records: the command cannot have said how it ended */
    bool saved;      /* the run has a checkpoint */
    bool cut_off;    /* and it ended before the run did, without being asked to */
};

/* 0: this process is in an allocation already, go on. 1: the command has run in one of
 * its own, and *end says how that ended. -1: no allocation can be taken. */
int allocation_run(const struct trainer *trainer, char *const argv[],
                   struct allocation_end *end, struct error *err);

/* Of salloc's wait status, of whether a stop was asked for, and of the run's records.
 */
struct allocation_end allocation_judge(int wait_status, bool asked,
                                       enum run_standing standing);

#endif
