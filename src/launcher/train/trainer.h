/*
 * trainer.h - DataParallelTrainer: from a configuration to a Result.
 */
#ifndef RAYTRAIN_TRAIN_TRAINER_H
#define RAYTRAIN_TRAIN_TRAINER_H

#include <stdio.h>

#include "train/result.h"
#include "train/run.h"

struct trainer {
    const struct train_config *cfg; /* validated */
    const struct options *opt;
    const struct launcher_ops *launcher;
    /* Reports what the trainer waits for, before there are callbacks; may be NULL. */
    void (*report)(const char *text);
    /* A run that has finished is called again: its function may find more to do. */
    bool calls_again;
};

/*
 * Run it: plan, enter the run directory, remove an earlier result.h5, write run.cfg,
 * make the attempts, write result.h5. *result is new, outcome says how the run ended; a
 * failed training is a Result, not an error. A run that has finished already with the
 * same configuration is not run again, unless trainer->calls_again: its Result is
 * returned, and *again is true.
 */
int trainer_fit(const struct trainer *trainer, struct run_outcome *outcome,
                json_t **result, bool *again, struct error *err);

/* Complete the configuration with the checkpoint that the run was started from
 * (start_point.h). Call it before the following functions, without a lock. */
int trainer_settle(struct options *opt, struct train_config *cfg, struct error *err);

/* With --resume: may the run in the directory be continued with this configuration? An
 * early check without a lock; trainer_fit() checks again. */
int trainer_check(const struct trainer *trainer, struct error *err);

enum run_standing {
    RUN_NOT_BEGUN,
    RUN_INTERRUPTED, /* it began, but has no recorded end */
    RUN_HAS_FINISHED,
    RUN_HAS_STOPPED,
    RUN_HAS_FAILED
};

/* The state of the run by its records only, for a process that has not seen it end. A
 * run that finished with another configuration counts as interrupted, since there is
 * more to do. */
enum run_standing trainer_standing(const struct trainer *trainer);
/* Does the run have a checkpoint, judged by file names only? With a staging_path there
 * may be one on the disk of a node. */
bool trainer_has_saved(const struct trainer *trainer);

/* The run of this trainer, not yet planned. */
struct run trainer_run(const struct trainer *trainer);

#endif
