/*
 * child.h - start a program, and learn when it has ended.
 *
 * A child begins with an empty signal mask, default signal actions (except SIGHUP,
 * which stays ignored if it is, as under nohup), descriptors 0, 1 and 2 as requested,
 * and none of our other descriptors except `kept`. It is watched through a descriptor
 * (process.h): poll it for reading, then call child_reap(). There is no SIGCHLD
 * handler, and nothing waits for "any child".
 */
#ifndef RAYTRAIN_UTIL_CHILD_H
#define RAYTRAIN_UTIL_CHILD_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct child_spec {
    char *const *argv;     /* argv[0] without a '/' is searched in PATH */
    char *const *env;      /* NULL: that of this process */
    const char *dir;       /* its working directory; NULL: that of this process */
    const cpu_set_t *cpus; /* CPUs that it may run on, if possible; NULL: ours */
    /* Our descriptors, which stay open here; -1: /dev/null. */
    int in, out, err;
    /* A process group of its own, without a terminal and its Ctrl-C. The group is
     * killed when the child ends. */
    bool own_group;
    /* The same, as a session. Kernels with autogroups give each session the same share
     * of the cores, so the threads of several sessions run slower together. */
    bool own_session;
    /* > 2: one of our descriptors, which the child has under the same number. */
    int kept, kept_too;
    int ignored; /* a signal that is ignored when it begins; 0: none */
    /* SIGKILL when the *thread* that called child_spawn() ends, for any reason. */
    bool die_with_parent;
    /* > 0: a socket to which the child sends its pid (a pid_t) before it executes the
     * program, so that the reader knows it even if this process dies at that moment. If
     * nothing reads from the socket for a second, the program is not started. */
    int announce;
};

struct child {
    pid_t pid;  /* > 0 from child_spawn() until it has been reaped; else 0 */
    /* From process_child_fd(): readable once the child has ended; -1 if pid is 0. */
    int pidfd;
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

/* Never blocks. *gone: the child has ended with *wait_status (as in waitpid), the rest
 * of its process group has been killed, and *c is CHILD_INIT again. */
int child_reap(struct child *c, bool *gone, int *wait_status, struct error *err);
/* The same, but wait until the child has ended. */
int child_wait(struct child *c, int *wait_status, struct error *err);

/* Send a signal to the process itself, or to its whole group if it leads one. It is not
 * an error if the child has already ended. */
int child_signal(const struct child *c, int sig, struct error *err);
int child_signal_group(const struct child *c, int sig, struct error *err);

/* Kill the child and its group if it still runs, wait a few seconds for its end, and
 * close the pidfd. CHILD_INIT is fine. */
void child_clear(struct child *c);

#endif
