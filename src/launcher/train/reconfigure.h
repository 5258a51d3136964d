/*
 * reconfigure.h - a run that is continued with another configuration than that of its
 * last attempt: what may change, and what has changed.
 */
#ifndef RAYTRAIN_TRAIN_RECONFIGURE_H
#define RAYTRAIN_TRAIN_RECONFIGURE_H

#include "callback/callback.h"
#include "config/train_config.h"

/* A run keeps the training function that it began with, which is known by the name of
 * its file: RAYTRAIN_EINVAL for another one. A run that does not exist yet is fine. */
int reconfigure_check(const char *run_dir, const struct train_config *cfg,
                      struct error *err);
/* Report each changed setting on a line; if there are very many, only the first
 * ones. */
void reconfigure_report(const char *run_dir, const char *config,
                        struct callback_list *callbacks);

#endif
