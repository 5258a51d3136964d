/*
 * new_file.h - a file that one or more processes write under a temporary name, and that
 * gets its own name once it is complete: reserve, write, sync, rename, sync the
 * directory. A process that dies meanwhile leaves a temporary file, which is never
 * mistaken for the file (fs_temp_name()).
 */
#ifndef RAYTRAIN_CHECKPOINT_NEW_FILE_H
#define RAYTRAIN_CHECKPOINT_NEW_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct new_file {
    const char *path; /* its final name; borrowed */
    char *temp;       /* malloc'ed; NULL: not named yet */
    bool created;     /* temp exists, and is ours to remove */
    int fd;           /* -1: not open */
};

#define NEW_FILE(where)                                                                \
    {                                                                                  \
        .path = (where), .temp = NULL, .created = false, .fd = -1                      \
    }

/* The process that creates it: choose the temporary name. */
int new_file_name(struct new_file *f, struct error *err);
/* The same process: create it with space for `bytes`, so that a full disk is found
 * before the first byte rather than after the last, and on Lustre with stripes for this
 * size (stripes.h). The descriptor is write-only, as in all other processes: an NFS
 * client that may read the file reads a page before it writes part of it, and then
 * writes back all of it. */
int new_file_create(struct new_file *f, uint64_t bytes, struct error *err);
/* Other processes, which know the temporary name: open it for writing. If this node
 * does not see it yet, retry for a few seconds; then RAYTRAIN_ESTORAGE. */
int new_file_join(struct new_file *f, struct error *err);
/* The process that created it, after all others have synced: sync, and give it its
 * name. If only the sync of the directory fails, the file is there, complete. */
int new_file_publish(struct new_file *f, struct error *err);
/* Close it, and remove it unless it is published. Twice is fine; keeps errno. */
void new_file_clear(struct new_file *f);

#endif
