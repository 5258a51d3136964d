/* next_command.h - a command to suggest to the user. */
#ifndef RAYTRAIN_VIEW_NEXT_COMMAND_H
#define RAYTRAIN_VIEW_NEXT_COMMAND_H

/* "PROGRAM PATH", quoted for a shell. If the shell does not find PROGRAM by $PATH, it
 * is written with its path beside the running program. malloc'ed, NULL without
 * memory. */
char *next_command(const char *program, const char *path);

#endif
