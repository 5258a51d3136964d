/*
 * checkpoint_name.h - the names of a checkpoint's files: "checkpoint_000012.h5" in a
 * run directory and among the images of a node, "checkpoint_000012.held" beside an
 * image.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKPOINT_NAME_H
#define RAYTRAIN_CHECKPOINT_CHECKPOINT_NAME_H

#include <stdint.h>

#define CHECKPOINT_PREFIX "checkpoint_"
#define CHECKPOINT_ENDING ".h5"

/* DIR/checkpoint_000012ENDING; malloc'ed, NULL without memory. */
char *checkpoint_name_path(const char *dir, int64_t iteration, const char *ending);
/* The iteration in the name of a file. Each iteration has one name: -1 for every other.
 */
int64_t checkpoint_name_iteration(const char *name, const char *ending);

/* For qsort(3) of iterations: from the first to the last, and the other way. */
int iteration_ascending(const void *a, const void *b);
int iteration_descending(const void *a, const void *b);

#endif
