/*
 * pmix_server.h - the embedded PMIx server of the local launcher: one namespace of N
 * workers on this host. Its files are in a private directory (0700) of the caller; its
 * socket listens only on the loopback address, and takes connections of this user's
 * processes only (pmix/own_accept.c). To join, they must know the namespace, which is
 * random.
 *
 * The server is a program of its own, raytrain-pmix (pmix/server_process.h), which dies
 * with the thread that started it, and ignores Ctrl-C and the other signals that ask a
 * process to end.
 */
#ifndef RAYTRAIN_LOCAL_PMIX_SERVER_H
#define RAYTRAIN_LOCAL_PMIX_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct pmix_server;

/* Returns immediately: the server starts in the background. mark is an entry for its
 * environment. Both strings are borrowed. */
int pmix_server_start(int n_workers, const char *private_dir, const char *mark,
                      struct pmix_server **out, struct error *err);

/* Append what worker `rank` needs to the environment *env (an argv vector), for the
 * ranks in their order. Never blocks. 1: done; 0: the server is not up yet, its
 * descriptor will be readable; -1: RAYTRAIN_ECOMM with the library's reason if it
 * failed or died. After the last rank, call pmix_server_next(). */
int pmix_server_worker_env(struct pmix_server *s, int rank, char ***env,
                           struct error *err);

enum pmix_server_news {
    PMIX_SERVER_QUIET,   /* no (more) messages */
    PMIX_SERVER_ABORTED, /* a worker called PMIx_Abort: *call says which and why */
    PMIX_SERVER_DEAD     /* the server has died: the workers cannot continue */
};

struct pmix_abort_call {
    int rank, status;
    char msg[1024];
};

/* Readable when there are messages. */
int pmix_server_fd(const struct pmix_server *s);
/* Never blocks. Call it now and then even without messages: a server that was stopped
 * (SIGSTOP) is killed after half a minute. A worker's abort is reported here before
 * that worker's end can be seen. */
enum pmix_server_news pmix_server_next(struct pmix_server *s,
                                       struct pmix_abort_call *call);

/* Has this worker joined the group through PMIx, and not left it? If it ends in this
 * state, it has failed, whatever its exit status. Reflects the messages that
 * pmix_server_next() has read; the message about leaving arrives before the worker's
 * end can be seen. */
bool pmix_server_is_joined(const struct pmix_server *s, int rank);

/* Its process id: for messages and tests. */
pid_t pmix_server_pid(const struct pmix_server *s);

/* From now on, the server outlives this process as long as another process holds the
 * private directory (util/private_dir.h). */
void pmix_server_outlive(struct pmix_server *s);

/* Kill it, wait, free. The caller removes its files in the private directory. NULL is
 * fine. */
void pmix_server_stop(struct pmix_server *s);

#endif
