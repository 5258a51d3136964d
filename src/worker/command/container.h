/*
 * container.h - a command that starts a container: what must reach the inside of it,
 * and what to say if it did not.
 */
#ifndef RAYTRAIN_COMMAND_CONTAINER_H
#define RAYTRAIN_COMMAND_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/* A variable with this name, which begins with one of the prefixes, is set inside a
 * container of apptainer or singularity as NAME, also with --cleanenv. */
extern const char *const container_prefixes[];
/* Variables with the directories to bind into such a container, separated by commas. */
extern const char *const container_binds[];

/* For share/enroot.conf: the names of the variables, separated by blanks, and the
 * directories, separated by colons. */
#define CONTAINER_VARIABLES   "RAYTRAIN_CONTAINER_VARIABLES"
#define CONTAINER_DIRECTORIES "RAYTRAIN_CONTAINER_DIRECTORIES"

/* Variables that choose the devices of a worker. They are set before this process
 * starts, and --cleanenv would remove them. NULL at the end. */
extern const char *const container_devices[];

/*
 * For a command argv[] that has ended without having connected to its session. If it
 * starts a container, text says what the container needs for that; false: nothing to
 * say. `well`: it has ended with status 0, so it may not need its session. env: the
 * command's.
 */
bool container_remark(char *const *argv, char *const *env, bool well, char *text,
                      size_t size);

#endif
