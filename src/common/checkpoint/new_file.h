/*
 * new_file.h - a file that is written under a temporary name, by one process or by
 * several, and appears under its own once it is complete: reserve, write, sync, rename,
 * sync the directory. A process that dies on the way leaves a temporary that is not
 * taken for the file (fs_temp_name()).
 */
#ifndef RAYTRAIN_CHECKPOINT_NEW_FILE_H
#define RAYTRAIN_CHECKPOINT_NEW_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct new_file {
    const char *path; /* where it is to appear; the caller's */
    char *temp;       /* malloc'ed; NULL: not named yet */
    bool created;     /* temp is there, and ours to remove */
    int fd;           /* -1: not open */
};

#define NEW_FILE(where)                                                                \
    {                                                                                  \
        .path = (where), .temp = NULL, .created = false, .fd = -1                      \
    }

/* The process that makes it: choose the temporary name. */
int new_file_name(struct new_file *f, struct error *err);
/* The same one: create it with `bytes` of room. A full disk is better found before the
 * first byte than after the last. The descriptor is for writing alone, as those of all
 * others are: an NFS client that may read the file reads a page before it writes a part
 * of it, and then writes back all of it. */
int new_file_create(struct new_file *f, uint64_t bytes, struct error *err);
/* Another process, which knows the temporary name: open it for writing. A node that
 * does not see it yet looks again for a few seconds; then RAYTRAIN_ESTORAGE. */
int new_file_join(struct new_file *f, struct error *err);
/* Whoever created it, once all have synced what they wrote: sync, and give it its name.
 * Where only the directory could not be synced, it is there, complete. */
int new_file_publish(struct new_file *f, struct error *err);
/* Close it, and remove what is not published. Twice is fine; keeps errno. */
void new_file_clear(struct new_file *f);

#endif
