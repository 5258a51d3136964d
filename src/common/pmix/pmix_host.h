/*
 * pmix_host.h - the host side of libpmix, inside the process of an embedded PMIx server
 * (server_process.h).
 */
#ifndef RAYTRAIN_PMIX_PMIX_HOST_H
#define RAYTRAIN_PMIX_PMIX_HOST_H

#include "pmix/namespace.h"
#include "util/error.h"

/* Calls of workers, reported in the library's thread. The worker's call returns after
 * the callback. */
struct pmix_host_events {
    void (*joined)(int rank);                               /* PMIx_Init */
    void (*left)(int rank);                                 /* PMIx_Finalize */
    void (*aborted)(int rank, int status, const char *msg); /* PMIx_Abort */
    /* All ranks of this node have entered a fence of the group, with these bytes. Get
     * those of the other nodes, then call pmix_host_fence_end(). The fences of a group
     * begin and end in the same order on all nodes. NULL with a single node. */
    void (*fence)(const char *data, size_t n);
};

/*
 * Start the server of the one namespace. Once per process; only the end of the process
 * stops it. The group and the directory are borrowed until then.
 */
int pmix_host_start(const struct pmix_group *group, const char *nspace,
                    const char *private_dir, const struct pmix_host_events *events,
                    struct error *err);

/* The variables that a worker of this node needs, as an argv vector. Once per rank. */
int pmix_host_worker_env(int rank, char ***env, struct error *err);

/* End the first fence that has begun and not ended, with the bytes of all nodes, one
 * after the other: malloc'ed, and the library's from now on. */
void pmix_host_fence_end(char *data, size_t n);

#endif
