/*
 * hostlist.h - Slurm's compressed node lists: "n[1-3,7],gpu[01-16]-ib,login".
 */
#ifndef RAYTRAIN_UTIL_HOSTLIST_H
#define RAYTRAIN_UTIL_HOSTLIST_H

#include <stddef.h>

#include "util/error.h"

/* A longer list is refused. */
#define HOSTLIST_MAX 65536

/*
 * All names in text, in its order: an argument vector, which the caller frees with
 * argv_free(). Numbers keep their leading zeros. A name may have several brackets
 * ("r[1-2]n[1-4]": the last one varies fastest). An empty text has no names (*names is
 * NULL). RAYTRAIN_EINVAL with the text and the mistake.
 */
int hostlist_expand(const char *text, char ***names, struct error *err);

/* Compress names, in their order: consecutive numbers after the same prefix are joined.
 * The caller frees *text. */
int hostlist_compress(char *const *names, size_t n, char **text, struct error *err);

#endif
