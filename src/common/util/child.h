/*
 * child.h - start a program, and know when it has ended.
 *
 * A child begins with an empty signal mask, default signal actions (except SIGHUP,
 * which stays ignored if it is, as under nohup), descriptors 0, 1 and 2 as requested,
 * and no other descriptors of ours, but for `kept`. It is watched through a descriptor
 * (process.h): poll it for reading, then call child_reap(). No SIGCHLD handler, no
 * waiting for "any child".
 */
#ifndef RAYTRAIN_UTIL_CHILD_H
#define RAYTRAIN_UTIL_CHILD_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct child_spec {
    char *const *argv;     /* argv[0] without a '/' is searched in PATH */
    char *const *env;      /* NULL: this process's */
    const char *dir;       /* its working directory; NULL: this process's */
    const cpu_set_t *cpus; /* those that it may run on, if it can; NULL: ours */
    int in, out, err;      /* our descriptors, which stay open here; -1: /dev/null */
    /* A process group of its own, without a terminal and its Ctrl-C; the group is
     * killed when it ends. */
    bool own_group;
    /* The same, as a session. A kernel with autogroups gives each session the same
     * share of the cores, so that threads of several run slower together. */
    bool own_session;
    /* > 2: one of our descriptors, which it has under the same number */
    int kept, kept_too;
    int ignored; /* a signal that is ignored when it begins; 0: none */
    /* SIGKILL when the *thread* that called child_spawn() ends, in whatever way. */
    bool die_with_parent;
    /* > 0: a socket to which the child sends its pid (a pid_t) before it executes the
     * program, so that the reader knows it even if this process dies right then. If
     * nothing reads it for a second, the program is not started. */
    int announce;
};

struct child {
    pid_t pid;  /* > 0 from child_spawn() until it has been reaped; else 0 */
    int pidfd;  /* of process_child_fd(): readable once it has ended; -1 if pid is 0 */
    bool group; /* pid leads a process group of its own */
};

#define CHILD_INIT                                                                     \
    {                                                                                  \
        .pid = 0, .pidfd = -1, .group = false                                          \
    }

/* Returns once the program has been executed, or could not be: RAYTRAIN_ENOTFOUND if it
 * does not exist, RAYTRAIN_EINVAL if it cannot be executed, RAYTRAIN_ENOMEM if the
 * system has no room for another process. On failure *c is CHILD_INIT. */
int child_spawn(const struct child_spec *spec, struct child *c, struct error *err);

/* Never blocks. *gone: it has ended with *wait_status (as in waitpid), the rest of its
 * process group has been killed, and *c is CHILD_INIT again. */
int child_reap(struct child *c, bool *gone, int *wait_status, struct error *err);
/* The same, but waits until it has ended. */
int child_wait(struct child *c, int *wait_status, struct error *err);

/* Send a signal to the process itself, or to its whole group if it leads one. If the
 * child has already ended, that is no error. */
int child_signal(const struct child *c, int sig, struct error *err);
int child_signal_group(const struct child *c, int sig, struct error *err);

/* Kill it and its group if it still runs, wait some seconds for its end, close the
 * pidfd. CHILD_INIT is fine. */
void child_clear(struct child *c);

#endif
