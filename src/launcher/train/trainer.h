/*
 * trainer.h - DataParallelTrainer: from a configuration to a Result.
 */
#ifndef RAYTRAIN_TRAIN_TRAINER_H
#define RAYTRAIN_TRAIN_TRAINER_H

#include <stdio.h>

#include "slurm/surroundings.h"
#include "train/result.h"

struct trainer {
    const struct train_config *cfg; /* validated */
    const struct options *opt;
    const struct launcher_ops *launcher;
    struct attempt_planner *planner;
    const struct placement *plan; /* of the first attempt */
    struct surroundings surroundings;
    /* Hears of what is waited for before the run's own callbacks can; may be NULL. */
    void (*tell)(const char *text);
};

/*
 * Run it: enter the run directory, remove an earlier result.h5, write run.cfg, make the
 * attempts, write result.h5.
 * *result is new, outcome says how it ended; a failed training is a Result, not an
 * error. A run that has finished already under the same configuration is not run again:
 * its Result is returned, *again is true.
 */
int trainer_fit(const struct trainer *trainer, struct run_outcome *outcome,
                json_t **result, bool *again, struct error *err);

/* Can this run be what is in its directory? Asked without a lock, before anything is
 * waited for: trainer_fit() looks again. */
int trainer_check(const struct trainer *trainer, struct error *err);

enum run_standing {
    RUN_NOT_BEGUN,
    RUN_INTERRUPTED, /* it has begun, and no end is recorded */
    RUN_HAS_FINISHED,
    RUN_HAS_STOPPED,
    RUN_HAS_FAILED
};

/* How the run stands by its records alone, for who has not seen it end. One that has
 * finished under another configuration is interrupted: there is more to do. */
enum run_standing trainer_standing(const struct trainer *trainer);
/* Has it a checkpoint, by the names of files alone? */
bool trainer_has_saved(const struct trainer *trainer);

/* Say what would be done: the effective configuration and the command, on `out`. */
int trainer_dry_run(const struct trainer *trainer, FILE *out, struct error *err);

#endif
