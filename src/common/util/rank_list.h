/* rank_list.h - a set of ranks in words: "rank 3", "ranks 0-2, 5". */
#ifndef RAYTRAIN_UTIL_RANK_LIST_H
#define RAYTRAIN_UTIL_RANK_LIST_H

#include <stdbool.h>

#define RANK_LIST_MAX 128

/* A text that is too long ends in "..."; "no rank" for an empty set. Returns out. */
char *rank_list(const bool in[], int size, char out[RANK_LIST_MAX]);

#endif
