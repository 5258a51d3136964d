/*
 * child.h - start a program, and know when it is gone.
 *
 * A child begins with an empty signal mask, default signal actions (but a SIGHUP that
 * is ignored here, as under nohup, is ignored there), descriptors 0, 1 and 2 as asked
 * for and no other descriptor of ours. It is watched through a descriptor (process.h):
 * poll it for reading, then child_reap(). No SIGCHLD handler, no waiting for "any
 * child".
 */
#ifndef RAYTRAIN_UTIL_CHILD_H
#define RAYTRAIN_UTIL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct child_spec {
    char *const *argv; /* argv[0] without a '/' is looked up in PATH */
    char *const *env;  /* NULL: this process's */
    const char *dir;   /* its working directory; NULL: this process's */
    int in, out, err;  /* descriptors of ours, kept open here; -1: /dev/null */
    /* A session of its own: no terminal, no Ctrl-C, and its whole process group goes
     * when it goes. */
    bool own_session;
    /* SIGKILL when the *thread* that called child_spawn() ends, however it ends. */
    bool die_with_parent;
    /* > 0: a socket to which the child sends its pid (a pid_t) before it executes the
     * program, so that the reader knows it even if this process dies right then. If
     * nothing is read there for a second the program is not started. */
    int announce;
};

struct child {
    pid_t pid;  /* > 0 from child_spawn() until it has been reaped; else 0 */
    int pidfd;  /* of process_child_fd(): readable once it has ended; -1 with pid 0 */
    bool group; /* pid leads a process group of its own */
};

#define CHILD_INIT                                                                     \
    {                                                                                  \
        .pid = 0, .pidfd = -1, .group = false                                          \
    }

/* Returns once the program has been executed, or could not be: RAYTRAIN_ENOTFOUND where
 * there is none, RAYTRAIN_EINVAL where it cannot be executed, RAYTRAIN_ENOMEM where the
 * system has no room for another process. On failure *c is CHILD_INIT. */
int child_spawn(const struct child_spec *spec, struct child *c, struct error *err);

/* Never blocks. *gone: it has ended, *wait_status (as of waitpid) says how, the rest of
 * its process group has been killed, and *c is CHILD_INIT again. */
int child_reap(struct child *c, bool *gone, int *wait_status, struct error *err);
/* The same, and waits for it. */
int child_wait(struct child *c, int *wait_status, struct error *err);

/* Send a signal to the process itself, or to its whole group where it leads one. A
 * child that has ended already is no error. */
int child_signal(const struct child *c, int sig, struct error *err);
int child_signal_group(const struct child *c, int sig, struct error *err);

/* Kill it and its group if it still runs, wait some seconds for its end, close the
 * pidfd. CHILD_INIT is fine. */
void child_clear(struct child *c);

#endif
