/*
 * prediction.h - what raytrain-predict and raytrain-serve have in common: the checkpoint
 * that has the model, and the function that predicts by it.
 */
#ifndef RAYTRAIN_CMD_PREDICTION_H
#define RAYTRAIN_CMD_PREDICTION_H

#include "config/options.h"

/* That of --checkpoint, malloc'ed; a run becomes its best one, or with --last its
 * newest. A checkpoint of the run that cannot be read, and may be the one that is meant,
 * is an error. */
int prediction_checkpoint(const struct options *opt, char **chosen, struct error *err);
/* The predict function of the user, or that of the trainer of the checkpoint, which is
 * cfg->resume_from_checkpoint: sets cfg->trainer. */
int prediction_function(struct train_config *cfg, struct error *err);
/* A configuration file may be that of the training, too: remove what is for trainings
 * alone, such as their datasets. RAYTRAIN_EINVAL for a dataset without a path, which no
 * training has. */
int prediction_reduce(struct train_config *cfg, struct error *err);

#endif
