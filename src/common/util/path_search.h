/* path_search.h - programs in the directories of PATH. */
#ifndef RAYTRAIN_UTIL_PATH_SEARCH_H
#define RAYTRAIN_UTIL_PATH_SEARCH_H

/* The path of the program that execvp() would run for this name, which has no '/':
 * malloc'ed; NULL: it is in no directory of PATH, or there is no memory. An empty
 * directory in PATH is the current one. */
char *path_search(const char *name);

#endif
