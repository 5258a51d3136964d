/*
 * sharing.h - bytes that ranks share through PMIx: put, fence, get.
 *
 * The fence commits what this rank has put and collects the data of all participants:
 * afterwards they are on this node. Every participant puts something before each fence,
 * even if it is empty: each value begins with a mark byte, because an empty
 * contribution beside full ones confuses PMIx's data store. PMIx keeps the first value
 * of a key.
 */
#ifndef RAYTRAIN_WIREUP_SHARING_H
#define RAYTRAIN_WIREUP_SHARING_H

#include <pmix.h>

#include "util/error.h"

int sharing_put(const char *key, const void *data, size_t n, struct error *err);
int sharing_fence(const pmix_proc_t *ranks, size_t n, struct error *err);
/* Never waits. The caller frees *data, which is NULL on failure. */
int sharing_get(const pmix_proc_t *peer, const char *key, char **data, size_t *n,
                struct error *err);

#endif
