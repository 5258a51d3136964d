/* submit.h - submits the run as a batch job with the same command line. */
#ifndef RAYTRAIN_TRAIN_SUBMIT_H
#define RAYTRAIN_TRAIN_SUBMIT_H

#include "train/trainer.h"

struct submission {
    char *script;
    struct batch_ticket ticket; /* empty if it was only shown */
    char *dir;                  /* the working directory of the job */
};

/*
 * Write the batch script for trainer->opt->submit, and submit it unless it is a dry
 * run. The configuration is validated, but its name is as it was typed (run_name.h).
 * The job continues its run after a requeue. RAYTRAIN_EINVAL if the run exists and
 * should be neither continued nor set aside. RAYTRAIN_EFIT if the job would never
 * start.
 */
int submit_run(const struct trainer *trainer, struct submission *out,
               struct error *err);
void submission_clear(struct submission *s);

#endif
