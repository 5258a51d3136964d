/* run_list.h - the runs below a directory. */
#ifndef RAYTRAIN_INSPECT_RUN_LIST_H
#define RAYTRAIN_INSPECT_RUN_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct run_list {
    char **paths;
    size_t n, room;
    bool cut; /* not all directories were searched */
};

/*
 * Append the runs below a directory, at most RUN_LIST_DEPTH levels deep, sorted by
 * name, in which numbers count as such. A run is not searched for others, and hidden
 * directories are left out. Links to directories are followed, but no directory is
 * searched twice. Directories that cannot be read have no runs, except the first.
 */
#define RUN_LIST_DEPTH 8
int run_list_find(const char *dir, struct run_list *list, struct error *err);

/* Append a run, or the runs of a directory. RAYTRAIN_EINVAL: it is neither. */
int run_list_add(const char *path, struct run_list *list, struct error *err);

void run_list_clear(struct run_list *list);

#endif
