/* next_command.h - what a user may type next. */
#ifndef RAYTRAIN_VIEW_NEXT_COMMAND_H
#define RAYTRAIN_VIEW_NEXT_COMMAND_H

/* "PROGRAM PATH" as a shell reads it; if PATH does not lead to the program, it is named
 * by its path beside the running one. malloc'ed, NULL without memory. */
char *next_command(const char *program, const char *path);

#endif
