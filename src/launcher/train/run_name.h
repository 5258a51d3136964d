/*
 * run_name.h - names of runs that depend on the batch job: lr-%a for the tasks of a job
 * array.
 */
#ifndef RAYTRAIN_TRAIN_RUN_NAME_H
#define RAYTRAIN_TRAIN_RUN_NAME_H

#include "config/options.h"

/*
 * Complete the name in a configuration that is not validated yet. As in names of files
 * for sbatch, %j is the id of the job, %A that of the job array, %a the number of the
 * task, and %% a percent sign; others stay. Without a name, a task of a job array gets
 * the default name and "-%a", so that tasks do not share a run. RAYTRAIN_EINVAL for a
 * number that is not known here.
 *
 * With --submit, the job does this.
 */
int run_name_settle(const struct options *opt, struct train_config *cfg,
                    struct error *err);

#endif
