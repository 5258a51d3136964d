/*
 * reconfigure.h - a run that goes on, but not with the configuration that its last
 * attempt had.
 */
#ifndef RAYTRAIN_TRAIN_RECONFIGURE_H
#define RAYTRAIN_TRAIN_RECONFIGURE_H

#include "callback/callback.h"
#include "config/train_config.h"

/* A run goes on with the training function that it was begun with, by the name of its
 * file: RAYTRAIN_EINVAL for another one. A run that is not there is in order. */
int reconfigure_check(const char *run_dir, const struct train_config *cfg,
                      struct error *err);
/* Name every change, a line each; of very many the first ones. */
void reconfigure_tell(const char *run_dir, const char *config,
                      struct callback_list *callbacks);

#endif
