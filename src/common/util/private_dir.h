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
/* Make this one, which must not exist; otherwise the same. */
int private_dir_make_at(const char *path);
/* Take the lock as well: a descriptor, or -1 and errno. */
int private_dir_hold(const char *path);

enum private_dir_use {
    PRIVATE_DIR_UNUSED,
    PRIVATE_DIR_USED,
    PRIVATE_DIR_UNKNOWN /* it is gone, or its file system has no locks */
};
/* Does a process hold the lock? If none does, *fd keeps others from taking it, for a
 * caller that removes the directory, and then closes *fd; otherwise *fd is -1. */
enum private_dir_use private_dir_use(const char *path, int *fd);

#endif
