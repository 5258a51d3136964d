/*
 * private_dir.h - a directory for one group of workers. Every process that uses it
 * holds a shared lock on it, which ends with the process, however that ends; and a
 * process that makes a new directory first removes those without a lock.
 */
#ifndef RAYTRAIN_LOCAL_PRIVATE_DIR_H
#define RAYTRAIN_LOCAL_PRIVATE_DIR_H

#include <limits.h>

/* Make one under $TMPDIR or /tmp, mode 0700. Returns a descriptor that holds the lock,
 * or -1 and errno; then path is what was tried. */
int private_dir_make(char path[PATH_MAX]);
/* Take the lock, too: a descriptor, or -1 and errno. */
int private_dir_hold(const char *path);

#endif
