/*
 * pmix_server.c - see pmix_server.h: the messages of the server's process, and the
 * launcher's side, which forks that process and reads its messages from a socket.
 */
#include "local/pmix_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/pmix_host.h"
#include "util/argv.h"
#include "util/clock.h"
#include "event/descriptors.h"
#include "util/fault.h"
#include "util/process.h"

#define STOPPED_MAX_S 30.0 /* for a stopped (SIGSTOP) server: workers hang meanwhile */
#define KILLED_WAIT_S 5.0  /* for the end of the server after it was killed */

/* From the server only, there are no replies; the variables of workers come in the
 * order of ranks. */
enum message_kind {
    MESSAGE_ERROR,
    MESSAGE_ENV,
    MESSAGE_JOINED,
    MESSAGE_LEFT,
    MESSAGE_ABORT
};

struct message {
    enum message_kind kind;
    int rank;             /* -1: ERROR */
    int status;           /* ABORT; of ERROR the raytrain_status */
    size_t n;             /* bytes of text that are sent */
    char text[60 * 1024]; /* ENV: strings with their NULs; else one string */
};

#define MESSAGE_HEAD offsetof(struct message, text)

struct pmix_server {
    pid_t pid;
    int socket;
    bool aborted; /* call arrived earlier and has not been reported yet */
    struct pmix_abort_call call;
    int n_workers;
    bool *joined;         /* for each rank */
    double stopped_since; /* clock_now(); 0: it runs */
    struct message in;
};

/* ---- In the server's process ---- */

static int server_socket;

static int message_send(const struct message *m)
{
    return send(server_socket, m, MESSAGE_HEAD + m->n, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void message_send_text(enum message_kind kind, int rank, int status,
                              const char *text)
{
    struct message m = {.kind = kind, .rank = rank, .status = status};

    m.n = (size_t)snprintf(m.text, sizeof m.text, "%s", text) + 1;
    if (m.n > sizeof m.text)
        m.n = sizeof m.text;
    message_send(&m);
}

static void abort_send(int rank, int status, const char *msg)
{
    message_send_text(MESSAGE_ABORT, rank, status, msg);
}

static void joined_send(int rank)
{
    message_send_text(MESSAGE_JOINED, rank, 0, "");
}

static void left_send(int rank)
{
    message_send_text(MESSAGE_LEFT, rank, 0, "");
}

static int env_send(int rank, struct error *err)
{
    struct message m = {.kind = MESSAGE_ENV, .rank = rank};
    char **env;

    if (pmix_host_worker_env(rank, &env, err) < 0)
        return -1;
    for (size_t i = 0; env && env[i]; i++) {
        size_t size = strlen(env[i]) + 1;

        if (size > sizeof m.text - m.n)
            return error_set(err, RAYTRAIN_ECOMM,
                             "PMIx server: too many variables for a worker");
        memcpy(m.text + m.n, env[i], size);
        m.n += size;
    }
    argv_free(env);
    return message_send(&m);
}

/* Close the launcher's descriptors, except its standard error. */
static void server_detach(int fd, pid_t launcher)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE};
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher || null < 0)
        _exit(1);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_NAME, "raytrain-pmix");
    server_socket = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(server_socket, STDERR_FILENO + 1);
    server_socket = STDERR_FILENO + 1;
    (void)descriptors_close(STDERR_FILENO + 2, -1);
}

static void server_main(int n_workers, const char *dir) __attribute__((noreturn));

static void server_main(int n_workers, const char *dir)
{
    const struct pmix_host_events events = {
        .joined = joined_send, .left = left_send, .aborted = abort_send};
    struct error err;
    char byte;
    int rc = pmix_host_start(n_workers, dir, &events, &err);

    for (int rank = 0; rc == 0 && rank < n_workers; rank++)
        rc = env_send(rank, &err);
    if (rc < 0)
        message_send_text(MESSAGE_ERROR, -1, (int)err.code, err.text);
    while (recv(server_socket, &byte, 1, 0) < 0 && errno == EINTR)
        continue; /* nothing is ever sent: wait for the end */
    _exit(0);
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
        server_detach(ends[1], launcher);
        fault_point("pmix.server", n);
        server_main(n_workers, private_dir);
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
    if (s->in.kind == MESSAGE_ABORT)
        abort_keep(s);
    else if (s->in.rank >= 0 && s->in.rank < s->n_workers)
        s->joined[s->in.rank] = s->in.kind == MESSAGE_JOINED;
}

/* Read the next message into s->in. 1: done; 0: none yet; -1: the end. */
static int message_receive(struct pmix_server *s)
{
    ssize_t got;

    do
        got = recv(s->socket, &s->in, sizeof s->in, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got < (ssize_t)MESSAGE_HEAD || (size_t)got != MESSAGE_HEAD + s->in.n)
        return -1;
    return 1;
}

static int env_append(const struct message *m, char ***env, struct error *err)
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
        if (s->in.kind == MESSAGE_ERROR)
            return error_set(err, (raytrain_status)s->in.status, "%s", s->in.text);
        if (s->in.kind != MESSAGE_ENV)
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
