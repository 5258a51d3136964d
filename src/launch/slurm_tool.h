/* slurm_tool.h - run one of Slurm's commands to its end and read what it prints. */
#ifndef RAYTRAIN_LAUNCH_SLURM_TOOL_H
#define RAYTRAIN_LAUNCH_SLURM_TOOL_H

#include <stdbool.h>

#include "util/error.h"

/* *text is malloc'ed. A command that cannot be started or ends with another status than
 * 0 is RAYTRAIN_ENOTSUP, with what it printed. */
int slurm_tool_read(char *const *argv, char **text, struct error *err);

/* The same, for who has something else to do meanwhile. */
struct slurm_tool;
/* env NULL: this process's. */
int slurm_tool_start(char *const *argv, char *const *env, struct slurm_tool **out,
                     struct error *err);
/* Never blocks. *done: it has ended, and *text is what it printed; the last call then.
 */
int slurm_tool_poll(struct slurm_tool *t, bool *done, char **text, struct error *err);
/* Until there is something to poll for, or so many milliseconds are over; -1: never. */
void slurm_tool_wait(const struct slurm_tool *t, int ms);
void slurm_tool_destroy(struct slurm_tool *t); /* ends it; NULL is fine */

#endif
