/*
 * prediction.h - what raytrain-predict and raytrain-serve have in common: finding the
 * checkpoint with the model, and the function that predicts with it.
 */
#ifndef RAYTRAIN_CMD_PREDICTION_H
#define RAYTRAIN_CMD_PREDICTION_H

#include "config/options.h"

/* The checkpoint of --checkpoint, malloc'ed; for a run, its best one, or with --last
 * its newest. If a checkpoint of the run cannot be read and may be the one that is
 * meant, that is an error. */
int prediction_checkpoint(const struct options *opt, char **chosen, struct error *err);
/* The predict function of the user, or that of the trainer of the checkpoint, which is
 * cfg->resume_from_checkpoint: sets cfg->trainer. */
int prediction_function(struct train_config *cfg, struct error *err);
/* A configuration file may also be that of the training: remove what only trainings
 * use, such as their datasets. RAYTRAIN_EINVAL for a dataset without a path, which no
 * training has. */
int prediction_reduce(struct train_config *cfg, struct error *err);

#endif
