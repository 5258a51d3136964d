/*
 * storage_advice.h - by which option, or key of the configuration, a user chooses the
 * places of a run's files: for the advice of errors about these files.
 */
#ifndef RAYTRAIN_CONFIG_STORAGE_ADVICE_H
#define RAYTRAIN_CONFIG_STORAGE_ADVICE_H

#include "config/train_config.h"

/* run_dir: of the run, as this process names it. Before its threads start. */
void storage_advice_set(const struct train_config *cfg, const char *run_dir);

#endif
