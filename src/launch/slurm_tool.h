/* slurm_tool.h - run one of Slurm's commands to its end and read what it prints. */
#ifndef RAYTRAIN_LAUNCH_SLURM_TOOL_H
#define RAYTRAIN_LAUNCH_SLURM_TOOL_H

#include "util/error.h"

/* *text is malloc'ed. A command that cannot be started or ends with another status than
 * 0 is RAYTRAIN_ENOTSUP, with what it printed. */
int slurm_tool_read(char *const *argv, char **text, struct error *err);

#endif
