/*
 * container.h - a command that starts a container: what must reach the inside of it, and
 * what to say if it did not.
 */
#ifndef RAYTRAIN_COMMAND_CONTAINER_H
#define RAYTRAIN_COMMAND_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/* A variable with this name, which begins with one of the prefixes, is set inside a
 * container of apptainer or singularity as NAME, also with --cleanenv. */
extern const char *const container_prefixes[];
/* These have the directories that are bound into such a container, with commas. */
extern const char *const container_binds[];

/* For share/enroot.conf: the names of the variables, with blanks, and the directories,
 * with colons. */
#define CONTAINER_VARIABLES   "RAYTRAIN_CONTAINER_VARIABLES"
#define CONTAINER_DIRECTORIES "RAYTRAIN_CONTAINER_DIRECTORIES"

/* Variables that choose the devices of a worker; others set them before this process has
 * started, and --cleanenv would take them away. NULL at the end. */
extern const char *const container_devices[];

/*
 * The command argv[] has ended and has never connected to its session. If it starts a
 * container, a sentence on what the container needs for that; false: there is nothing to
 * say. `well`: it has ended with status 0, so that it may not need its session at all.
 * env: of the command.
 */
bool container_remark(char *const *argv, char *const *env, bool well, char *text,
                      size_t size);

#endif
