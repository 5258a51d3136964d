/*
 * name_index.h - where a name is in a list, without comparing it with all of them. Lists
 * of nodes have thousands of names, and questions about each of them.
 */
#ifndef RAYTRAIN_UTIL_NAME_INDEX_H
#define RAYTRAIN_UTIL_NAME_INDEX_H

#include <stddef.h>

#define NAME_INDEX_NONE ((size_t)-1)

struct name_place {
    const char *name;
    size_t at;
};

/* Zeros: an empty index. It keeps pointers to the names, not copies. */
struct name_index {
    struct name_place *places; /* sorted */
    size_t n;
};

/* The names of a list of n, the first of which is at *first, and the next ones each
 * `stride` bytes further: an array of strings, or of structs with one. 0; -1: out of
 * memory, and the index is empty. */
int name_index_make(struct name_index *x, char *const *first, size_t stride, size_t n);
/* Its number in the list; of equal names the first. NAME_INDEX_NONE: it is not there. */
size_t name_index_find(const struct name_index *x, const char *name);
void name_index_clear(struct name_index *x);

#endif
