/* configuration.h - is this machine part of a cluster? Slurm's commands may be
 * installed on any machine. */
#ifndef RAYTRAIN_SLURM_CONFIGURATION_H
#define RAYTRAIN_SLURM_CONFIGURATION_H

#include <stdbool.h>

#include "util/error.h"

/* Judged by variables and the usual places of slurm.conf. A site may have built Slurm
 * with another place, or serve the configuration by DNS. */
bool slurm_has_configuration(void);

/* Outside a job, does SLURM_CONF name a file that does not exist? Slurm would retry for
 * a minute. RAYTRAIN_ENOTSUP, with what to do. */
int slurm_configuration_check(struct error *err);

/* One of Slurm's commands has failed with this output: because there is no
 * configuration at all? True if the command says so, and neither a job nor the usual
 * places show one. */
bool slurm_configuration_is_missing(const char *output);

/* Fills err with this finding and what to do; returns -1. */
int slurm_configuration_missing(struct error *err);

#endif
