/* command_output.h - run a command to its end, with a limit, and read what it prints. */
#ifndef RAYTRAIN_UTIL_COMMAND_OUTPUT_H
#define RAYTRAIN_UTIL_COMMAND_OUTPUT_H

#include "util/error.h"

/* *text is malloc'ed: its standard output and standard error, without a final newline.
 * RAYTRAIN_ENOTFOUND if there is no such command, RAYTRAIN_EFAILED if it fails,
 * RAYTRAIN_ESTOPPED if it takes longer and was killed; *text is set. In any thread, also
 * beside others: it is started as by child_spawn(). */
int command_output(char *const *argv, double limit_s, char **text, struct error *err);

#endif
