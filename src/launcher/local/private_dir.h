/*
 * private_dir.h - a directory for one group of workers, which does not outlive
 * them for long: whoever works in it holds a shared lock on it, which ends with the
 * holder however that ends; and whoever makes a new one removes those that nobody
 * holds.
 */
#ifndef RAYTRAIN_LOCAL_PRIVATE_DIR_H
#define RAYTRAIN_LOCAL_PRIVATE_DIR_H

#include <limits.h>

/* Under $TMPDIR or /tmp, mode 0700. A descriptor that holds it, or -1 and errno; path
 * is what was tried then. */
int private_dir_make(char path[PATH_MAX]);
/* Hold it, too: a descriptor, or -1 and errno. */
int private_dir_hold(const char *path);

#endif
