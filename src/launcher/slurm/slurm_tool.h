/* slurm_tool.h - run one of Slurm's commands to its end and read what it prints. */
#ifndef RAYTRAIN_SLURM_SLURM_TOOL_H
#define RAYTRAIN_SLURM_SLURM_TOOL_H

#include <stdbool.h>

#include "util/error.h"

/* This process's environment without a user's own settings of Slurm's commands
 * (SQUEUE_FORMAT, SCANCEL_INTERACTIVE, SLURM_JSON, ...), and with times as Unix time:
 * malloc'ed, argv_free(). Every question has it. */
int slurm_tool_env(char ***out, struct error *err);

/* *text is malloc'ed. A command that cannot be started, ends with another status than
 * 0, or has not ended after limit_s seconds is RAYTRAIN_ENOTSUP, with what it printed.
 */
int slurm_tool_read(char *const *argv, double limit_s, char **text, struct error *err);

/* The same, without waiting. */
struct slurm_tool;
int slurm_tool_start(char *const *argv, struct slurm_tool **out, struct error *err);
/* Never blocks. *done: it has ended, and *text is what it printed; the last call then.
 */
int slurm_tool_poll(struct slurm_tool *t, bool *done, char **text, struct error *err);
/* Until there is something to poll for, or so many milliseconds are over; -1: never. */
void slurm_tool_wait(const struct slurm_tool *t, int ms);
void slurm_tool_destroy(struct slurm_tool *t); /* ends it; NULL is fine */

#endif
