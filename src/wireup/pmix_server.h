/*
 * pmix_server.h - the embedded PMIx server of the local launcher: one namespace of N
 * workers on this host. Its files live in a private directory (0700) that the caller
 * made; its socket listens on the loopback address alone.
 */
#ifndef RAYTRAIN_WIREUP_PMIX_SERVER_H
#define RAYTRAIN_WIREUP_PMIX_SERVER_H

#include "util/error.h"

struct pmix_server;

/* on_abort (may be NULL) is called from a PMIx thread when a worker calls PMIx_Abort. */
int pmix_server_start(int n_workers, const char *private_dir,
                      void (*on_abort)(void *arg, int rank, int status, const char *msg),
                      void *arg, struct pmix_server **out, struct error *err);
/* Append what worker `rank` needs to the environment *env (a malloc'ed NULL-terminated
 * array of malloc'ed strings, reallocated). */
int pmix_server_worker_env(struct pmix_server *s, int rank, char ***env,
                           struct error *err);
void pmix_server_stop(struct pmix_server *s); /* NULL is fine */

#endif
