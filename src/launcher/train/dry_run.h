/* dry_run.h - what a trainer would do, without doing it. */
#ifndef RAYTRAIN_TRAIN_DRY_RUN_H
#define RAYTRAIN_TRAIN_DRY_RUN_H

#include <stdio.h>

#include "train/trainer.h"

/* Print what would be done, the effective configuration and the command, on `out`. argv
 * is the command of this process. */
int trainer_dry_run(const struct trainer *trainer, char *const argv[], FILE *out,
                    struct error *err);

#endif
