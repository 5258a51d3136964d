/*
 * pmix_host.h - the host side of libpmix, inside the process of the embedded PMIx
 * server (pmix_server.h).
 */
#ifndef RAYTRAIN_LOCAL_PMIX_HOST_H
#define RAYTRAIN_LOCAL_PMIX_HOST_H

#include "util/error.h"

/* Calls of workers, reported from the library's thread. The worker's call returns after
 * the callback has. */
struct pmix_host_events {
    void (*joined)(int rank);                               /* PMIx_Init */
    void (*left)(int rank);                                 /* PMIx_Finalize */
    void (*aborted)(int rank, int status, const char *msg); /* PMIx_Abort */
};

/*
 * Start the server of the one namespace. Once per process; only the end of the process
 * stops it.
 */
int pmix_host_start(int n_workers, const char *private_dir,
                    const struct pmix_host_events *events, struct error *err);

/* The variables that a worker needs, as an argv vector. Once per rank. */
int pmix_host_worker_env(int rank, char ***env, struct error *err);

#endif
