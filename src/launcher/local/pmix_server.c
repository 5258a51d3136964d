/*
 * pmix_server.c - see pmix_server.h: forks the process of the server, and reads its
 * messages from a socket.
 */
#include "local/pmix_server.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmix/namespace.h"
#include "pmix/server_process.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/process.h"

#define STOPPED_MAX_S 30.0 /* for a stopped (SIGSTOP) server: workers hang meanwhile */
#define KILLED_WAIT_S 5.0  /* for the end of the server after it was killed */

struct pmix_server {
    pid_t pid;
    int socket;
    bool aborted; /* call arrived earlier and has not been reported yet */
    struct pmix_abort_call call;
    int n_workers;
    bool *joined;         /* for each rank */
    double stopped_since; /* clock_now(); 0: it runs */
    struct pmix_message in;
};

/* ---- In the server's process ---- */

static void server_main(int fd, pid_t launcher, int n_workers, const char *dir)
    __attribute__((noreturn));

static void server_main(int fd, pid_t launcher, int n_workers, const char *dir)
{
    struct pmix_group group;
    struct error err;
    char nspace[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher || pmix_group_local(n_workers, &group, &err) < 0)
        _exit(1);
    snprintf(nspace, sizeof nspace, "raytrain-%d", (int)getpid());
    pmix_server_run(pmix_server_detach(fd), &group, nspace, dir);
}

/* ---- In the launcher ---- */

int pmix_server_start(int n_workers, const char *private_dir, struct pmix_server **out,
                      struct error *err)
{
    static int n_started;
    struct pmix_server *s;
    pid_t launcher = getpid();
    int ends[2], n = n_started++;

    if (n_workers < 1)
        return error_set(err, RAYTRAIN_EINVAL, "PMIx server: %d workers", n_workers);
    s = calloc(1, sizeof *s);
    if (!s || !(s->joined = calloc((size_t)n_workers, sizeof *s->joined))) {
        free(s);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    s->n_workers = n_workers;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        error_set(err, RAYTRAIN_ECOMM, "cannot make a socket pair: %s",
                  strerror(errno));
        free(s->joined);
        free(s);
        return -1;
    }
    s->socket = ends[0];
    s->pid = fork();
    if (s->pid == 0) {
        fault_point("pmix.server", n);
        server_main(ends[1], launcher, n_workers, private_dir);
    }
    close(ends[1]);
    if (s->pid < 0) {
        error_set(err, RAYTRAIN_ENOMEM, "cannot start another process: %s",
                  strerror(errno));
        pmix_server_stop(s);
        return -1;
    }
    *out = s;
    return 0;
}

static void abort_keep(struct pmix_server *s)
{
    if (s->aborted)
        return;
    s->aborted = true;
    s->call.rank = s->in.rank;
    s->call.status = s->in.status;
    s->in.text[sizeof s->call.msg - 1] = '\0';
    memcpy(s->call.msg, s->in.text, sizeof s->call.msg);
}

/* Keep a report about a worker. */
static void event_keep(struct pmix_server *s)
{
    if (s->in.kind == PMIX_MESSAGE_ABORT)
        abort_keep(s);
    else if (s->in.rank >= 0 && s->in.rank < s->n_workers)
        s->joined[s->in.rank] = s->in.kind == PMIX_MESSAGE_JOINED;
}

/* Read the next message into s->in. 1: done; 0: none yet; -1: the end. */
static int message_receive(struct pmix_server *s)
{
    return pmix_message_receive(s->socket, false, &s->in);
}

static int env_append(const struct pmix_message *m, char ***env, struct error *err)
{
    for (size_t at = 0; at < m->n; at += strlen(m->text + at) + 1)
        if (argv_append(env, m->text + at, err) < 0)
            return -1;
    return 0;
}

int pmix_server_worker_env(struct pmix_server *s, int rank, char ***env,
                           struct error *err)
{
    int got;

    while ((got = message_receive(s)) > 0) {
        if (s->in.kind == PMIX_MESSAGE_ERROR)
            return error_set(err, (raytrain_status)s->in.status, "%s", s->in.text);
        if (s->in.kind != PMIX_MESSAGE_ENV)
            event_keep(s);
        else if (s->in.rank == rank)
            return env_append(&s->in, env, err) < 0 ? -1 : 1;
    }
    if (got == 0)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM, "the PMIx server of this run has died");
}

bool pmix_server_is_joined(const struct pmix_server *s, int rank)
{
    return s->joined[rank];
}

pid_t pmix_server_pid(const struct pmix_server *s)
{
    return s->pid;
}

int pmix_server_fd(const struct pmix_server *s)
{
    return s->socket;
}

/* A server that stays stopped is as bad as a dead one: kill it. */
static void stopped_check(struct pmix_server *s)
{
    siginfo_t info = {0};
    double now = clock_now();

    if (waitid(P_PID, (id_t)s->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        s->stopped_since = 0;
    else if (s->stopped_since == 0)
        s->stopped_since = now;
    else if (now - s->stopped_since > STOPPED_MAX_S ||
             fault_point("pmix.stopped", 0) < 0)
        kill(s->pid, SIGKILL);
}

enum pmix_server_news pmix_server_next(struct pmix_server *s,
                                       struct pmix_abort_call *call)
{
    int got = 1;

    stopped_check(s);
    while (!s->aborted && (got = message_receive(s)) > 0)
        event_keep(s);
    if (s->aborted) {
        *call = s->call;
        s->aborted = false;
        return PMIX_SERVER_ABORTED;
    }
    return got < 0 ? PMIX_SERVER_DEAD : PMIX_SERVER_QUIET;
}

void pmix_server_stop(struct pmix_server *s)
{
    int saved = errno;

    if (!s)
        return;
    close(s->socket);
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        (void)process_reap(s->pid, KILLED_WAIT_S, NULL);
    }
    free(s->joined);
    free(s);
    errno = saved;
}
