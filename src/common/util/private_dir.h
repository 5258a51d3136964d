/*
 * private_dir.h - a private directory for a worker, or for a group of workers. Every
 * process that uses it holds a shared lock on it, which is released when the process
 * ends for any reason. A process that makes a new directory first removes those that
 * are not locked.
 */
#ifndef RAYTRAIN_UTIL_PRIVATE_DIR_H
#define RAYTRAIN_UTIL_PRIVATE_DIR_H

#include <limits.h>
#include <stddef.h>

/* Make one under $TMPDIR, or under /tmp if that is not set or the path would be longer
 * than `most` bytes; mode 0700. Returns a descriptor that holds the lock, or -1 and
 * errno; then path is the one that was tried. */
int private_dir_make(char path[PATH_MAX], size_t most);
/* Take the lock as well: a descriptor, or -1 and errno. */
int private_dir_hold(const char *path);

#endif
