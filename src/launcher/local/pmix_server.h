/*
 * pmix_server.h - the embedded PMIx server of the local launcher: one namespace of N
 * workers on this host. Its files live in a private directory (0700) that the caller
 * made; its socket listens on the loopback address alone. libpmix takes connections
 * only for the namespace and ranks that it knows, from the user that they belong to.
 *
 * The server runs in a child process of its own: libpmix 4.2 cannot be started a second
 * time in a process, and a run may have many attempts; its threads, its leaks and its
 * faults stay out of the launcher; and to stop it is to kill it, which cannot hang
 * whatever its clients were doing. It dies with the thread that started it, and neither
 * Ctrl-C nor a polite signal reaches it.
 */
#ifndef RAYTRAIN_LOCAL_PMIX_SERVER_H
#define RAYTRAIN_LOCAL_PMIX_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct pmix_server;

/* Returns at once: the server comes up beside us. private_dir is borrowed. */
int pmix_server_start(int n_workers, const char *private_dir, struct pmix_server **out,
                      struct error *err);

/* Append what worker `rank` needs to the environment *env (an argv vector), for the
 * ranks in their order. Never blocks. 1: done; 0: the server is not up yet, its
 * descriptor will be readable; -1: RAYTRAIN_ECOMM with the library's reason if it
 * failed or died. Once all ranks have theirs pmix_server_next() is next. */
int pmix_server_worker_env(struct pmix_server *s, int rank, char ***env,
                           struct error *err);

enum pmix_server_news {
    PMIX_SERVER_QUIET,   /* nothing (more) to tell */
    PMIX_SERVER_ABORTED, /* a worker called PMIx_Abort: *call says which and why */
    PMIX_SERVER_DEAD     /* the server is gone: the workers cannot go on */
};

struct pmix_abort_call {
    int rank, status;
    char msg[1024];
};

/* Readable when there is news. */
int pmix_server_fd(const struct pmix_server *s);
/* Never blocks. To be called now and then also without news: a server that something
 * has stopped (SIGSTOP) is killed after half a minute. A worker's abort is told here
 * before that worker's end can be seen. */
enum pmix_server_news pmix_server_next(struct pmix_server *s,
                                       struct pmix_abort_call *call);

/* Has this worker joined the group through PMIx, and not left it again? One that ends
 * so has broken off, whatever its exit status. Knows what pmix_server_next() has taken
 * in; a worker's goodbye is there before that worker's end can be seen. */
bool pmix_server_is_joined(const struct pmix_server *s, int rank);

/* Its process: for messages and tests. */
pid_t pmix_server_pid(const struct pmix_server *s);

/* Kill it, wait, free. What it left in the private directory is the caller's to remove.
 * NULL is fine. */
void pmix_server_stop(struct pmix_server *s);

#endif
