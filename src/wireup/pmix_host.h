/*
 * pmix_host.h - inside the process of the embedded PMIx server (pmix_server.h): what
 * libpmix asks of a host.
 */
#ifndef RAYTRAIN_WIREUP_PMIX_HOST_H
#define RAYTRAIN_WIREUP_PMIX_HOST_H

#include "util/error.h"

/*
 * Bring the server of the one namespace up. on_abort is called from the library's
 * thread when a worker calls PMIx_Abort; the worker's call returns after it has
 * returned. Once a process; there is no way back but the process's end.
 */
int pmix_host_start(int n_workers, const char *private_dir,
                    void (*on_abort)(int rank, int status, const char *msg),
                    struct error *err);

/* The variables that a worker needs, as an argv vector. Once for each rank. */
int pmix_host_worker_env(int rank, char ***env, struct error *err);

#endif
