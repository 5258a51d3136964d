/* path_search.h - find programs in the directories of PATH. */
#ifndef RAYTRAIN_UTIL_PATH_SEARCH_H
#define RAYTRAIN_UTIL_PATH_SEARCH_H

/* The path of the program that execvp() would run for this name, which has no '/'.
 * malloc'ed; NULL: it is not in a directory of PATH, or there is no memory. An empty
 * entry in PATH is the current directory. */
char *path_search(const char *name);

#endif
