/*
 * namespace.h - what a PMIx server tells its clients about their group: a namespace, its
 * ranks, and on which node each of them is.
 */
#ifndef RAYTRAIN_PMIX_NAMESPACE_H
#define RAYTRAIN_PMIX_NAMESPACE_H

#include <pmix.h>
#include <stdbool.h>

#include "util/error.h"

/* The ranks of a group and their nodes. */
struct pmix_group {
    int size, n_nodes;
    int node;      /* index of this node */
    char **hosts;  /* for each node its name, NULL at the end */
    int *node_of;  /* for each rank, its node */
    int *local_of; /* for each rank, its number on its node */
    char *ranks;   /* "0,1;2,3": the ranks of each node */
};

/* Make it from lists of names, "a,b", and of ranks, "0,1;2,3". RAYTRAIN_EINVAL if they
 * do not agree, or if a rank is missing. */
int pmix_group_make(const char *hosts, const char *ranks, int node,
                    struct pmix_group *out, struct error *err);
void pmix_group_clear(struct pmix_group *g); /* may be zeroed */

int pmix_group_local_size(const struct pmix_group *g);

/* Make the arguments of PMIx_server_register_nspace(). `dir` is for files of the ranks
 * of this node. The caller frees *info, an array of *n, even after a failure. */
pmix_status_t pmix_group_describe(const struct pmix_group *g, const char *nspace,
                                  const char *dir, pmix_info_t **info, size_t *n);

#endif
