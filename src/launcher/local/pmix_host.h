/*
 * pmix_host.h - inside the process of the embedded PMIx server (pmix_server.h): what
 * libpmix asks of a host.
 */
#ifndef RAYTRAIN_LOCAL_PMIX_HOST_H
#define RAYTRAIN_LOCAL_PMIX_HOST_H

#include "util/error.h"

/* What workers do; called from the library's thread. The worker's own call returns
 * after ours has. */
struct pmix_host_events {
    void (*joined)(int rank);                               /* PMIx_Init */
    void (*left)(int rank);                                 /* PMIx_Finalize */
    void (*aborted)(int rank, int status, const char *msg); /* PMIx_Abort */
};

/*
 * Bring the server of the one namespace up. Once a process; there is no way back but
 * the process's end.
 */
int pmix_host_start(int n_workers, const char *private_dir,
                    const struct pmix_host_events *events, struct error *err);

/* The variables that a worker needs, as an argv vector. Once for each rank. */
int pmix_host_worker_env(int rank, char ***env, struct error *err);

#endif
