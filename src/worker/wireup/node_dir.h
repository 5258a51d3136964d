/*
 * node_dir.h - a private directory (0700) of this process on its node.
 *
 * It lies in the directory of the PMIx server, which removes it with all that is in it,
 * also if this process is killed. If there is none that is private and has a short path,
 * it is one of its own; then, if this process is killed, it remains until the next
 * worker on the node makes its own.
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

/* With a path of at most so many bytes. */
int node_dir_make(struct node_dir *d, size_t most, struct error *err);
void node_dir_remove(struct node_dir *d); /* NODE_DIR_INIT is fine, and the result */

#endif
