/*
 * name_index.h - find a name in a list without comparing it with every entry. Lists of
 * nodes have thousands of names, and are searched for each of them.
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

/* Index a list of n names. The first is at *first, and each of the others `stride`
 * bytes after the one before it: an array of strings, or of structs that contain one.
 * 0; -1: out of memory, and the index is empty. */
int name_index_make(struct name_index *x, char *const *first, size_t stride, size_t n);
/* The number of the name in the list; the first one if there are several.
 * NAME_INDEX_NONE: it is not in the list. */
size_t name_index_find(const struct name_index *x, const char *name);
void name_index_clear(struct name_index *x);

#endif
