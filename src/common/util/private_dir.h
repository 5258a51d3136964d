/*
 * private_dir.h - a directory of a group of workers, or of one worker. Every process that uses it
 * holds a shared lock on it, which ends with the process, however that ends; and a
 * process that makes a new directory first removes those without a lock.
 */
#ifndef RAYTRAIN_UTIL_PRIVATE_DIR_H
#define RAYTRAIN_UTIL_PRIVATE_DIR_H

#include <limits.h>
#include <stddef.h>

/* How the name of such a directory begins. */
#define PRIVATE_DIR_PREFIX "raytrain-private-"

/* Make one under $TMPDIR, or /tmp if that is not set or the path would be longer than
 * `most` bytes; mode 0700. Returns a descriptor that holds the lock, or -1 and errno;
 * then path is what was tried. */
int private_dir_make(char path[PATH_MAX], size_t most);
/* Take the lock, too: a descriptor, or -1 and errno. */
int private_dir_hold(const char *path);

#endif
