/*
 * extracted.h - the files of a checkpoint as a directory, which the Python module has made
 * beside it (_extracted.py): checkpoint_000012/, or the name that was reported with it.
 * Its record, .checkpoint_000012.extracted, has that name, and which file it was made
 * from.
 */
#ifndef RAYTRAIN_RUN_EXTRACTED_H
#define RAYTRAIN_RUN_EXTRACTED_H

#include <stdbool.h>
#include <stdint.h>

struct extracted {
    char *path;     /* NULL: there is none */
    uint64_t bytes; /* of the regular files in it */
    bool is_old;    /* of an earlier checkpoint of this name */
};

/* The directory of the checkpoint of this iteration. Links are not followed, and a record
 * of another user is not acted upon. */
void extracted_find(const char *run_dir, int64_t iteration, struct extracted *out);
void extracted_clear(struct extracted *x);

/* The iteration in the name of a record; -1: it is another name. */
int64_t extracted_iteration(const char *name);

/* Remove the directories of checkpoints that were deleted, with their records. That of one
 * that was set aside as damaged stays, and so does one that another checkpoint has by
 * now, or whose record cannot be read. Failures are reported to `note`, which may be
 * NULL. */
void extracted_tidy(const char *run_dir, void (*note)(void *arg, const char *text),
                    void *arg);

#endif
