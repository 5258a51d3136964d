/*
 * storage_advice.h - which option, or key of the configuration, chooses each place of a
 * run's files, for the advice in errors about these files.
 */
#ifndef RAYTRAIN_CONFIG_STORAGE_ADVICE_H
#define RAYTRAIN_CONFIG_STORAGE_ADVICE_H

#include "config/train_config.h"

/* run_dir: the run directory, as this process names it. Call it before threads
 * start. */
void storage_advice_set(const struct train_config *cfg, const char *run_dir);

#endif
