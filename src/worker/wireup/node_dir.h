/*
 * node_dir.h - a private directory (0700) of this process on its node.
 *
 * It lies in the directory of the PMIx server, which removes it with its contents, even
 * if this process is killed. If that directory is not private or has a long path, a
 * directory of its own is made; if this process is killed, that remains until the next
 * worker on the node makes one.
 */
#ifndef RAYTRAIN_WIREUP_NODE_DIR_H
#define RAYTRAIN_WIREUP_NODE_DIR_H

#include <limits.h>

#include "util/error.h"

struct node_dir {
    int hold; /* the lock on the directory (util/private_dir.h); -1: none */
    char path[PATH_MAX];
};

#define NODE_DIR_INIT                                                                  \
    {                                                                                  \
        .hold = -1, .path = ""                                                         \
    }

/* Make the directory, with a path of at most `most` bytes. */
int node_dir_make(struct node_dir *d, size_t most, struct error *err);
void node_dir_remove(struct node_dir *d); /* accepts NODE_DIR_INIT, which it leaves */

#endif
