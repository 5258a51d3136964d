/* command_output.h - run a command with a time limit, and read its output. */
#ifndef RAYTRAIN_UTIL_COMMAND_OUTPUT_H
#define RAYTRAIN_UTIL_COMMAND_OUTPUT_H

#include "util/error.h"

/* *text is malloc'ed: standard output and standard error, without a final newline.
 * RAYTRAIN_ENOTFOUND if there is no such command, RAYTRAIN_EFAILED if it fails,
 * RAYTRAIN_ESTOPPED if it took too long and was killed; *text is set then. Any thread
 * may call it, even while others do: child_spawn() starts the command. */
int command_output(char *const *argv, double limit_s, char **text, struct error *err);

#endif
