/* pmix_server.c - starts raytrain-pmix, and reads its messages from a socket. */
#include "local/pmix_server.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/child_env.h"
#include "pmix/group_file.h"
#include "pmix/message.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/installed.h"
#include "util/secret.h"

#define STOPPED_MAX_S 30.0 /* for a stopped (SIGSTOP) server: workers hang meanwhile */

extern char **environ;

struct pmix_server {
    struct child process;
    int socket;
    bool aborted; /* `call` arrived earlier and is not reported yet */
    struct pmix_abort_call call;
    int n_workers;
    bool *joined;         /* for each rank */
    double stopped_since; /* clock_now(); 0: it runs */
    struct pmix_message in;
};

/* Writes the file of ranks: "0,1,2", all on this node. */
static int group_write(int n_workers, const char *private_dir, struct error *err)
{
    char *ranks = malloc((size_t)n_workers * 12 + 1), *end = ranks, host[256] = "";
    int rc;

    if (!ranks)
        return error_no_memory(err);
    for (int r = 0; r < n_workers; r++)
        end += sprintf(end, r ? ",%d" : "%d", r);
    if (gethostname(host, sizeof host - 1) < 0)
        strcpy(host, "localhost");
    rc = group_file_write(private_dir, host, ranks, err);
    free(ranks);
    return rc;
}

/* n_before: how many servers this process has started before. */
static int arguments_make(const char *private_dir, int n_before, char ***argv,
                          struct error *err)
{
    char program[PATH_MAX];

    if (installed_program("raytrain-pmix", program, sizeof program, err) < 0 ||
        argv_append(argv, program, err) < 0 ||
        argv_append(argv, private_dir, err) < 0 || argv_append(argv, "0", err) < 0)
        return -1;
    return argv_appendf(argv, err, "%d", n_before);
}

/* Processes that know this name can join. It is not in the arguments of a process or in
 * a file. */
static int namespace_send(const struct pmix_server *s, struct error *err)
{
    char secret[SECRET_TEXT_MAX], nspace[sizeof "raytrain-" + SECRET_TEXT_MAX];

    if (secret_make(secret, err) < 0)
        return -1;
    snprintf(nspace, sizeof nspace, "raytrain-%s", secret);
    if (pmix_text_send(s->socket, PMIX_MESSAGE_NAMESPACE, -1, 0, nspace) == 0)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM, "cannot reach the PMIx server: %s",
                     strerror(errno));
}

/* In a new session from the start, out of reach of Ctrl-C. */
static int server_process_start(struct pmix_server *s, char *const *argv,
                                const char *mark, struct error *err)
{
    struct child_spec spec = {.argv = argv,
                              .out = -1,
                              .err = STDERR_FILENO,
                              .own_session = true,
                              .die_with_parent = true};
    char **env = NULL;
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(err, RAYTRAIN_ECOMM, "cannot make a socket pair: %s",
                         strerror(errno));
    s->socket = ends[0];
    spec.in = ends[1];
    rc = namespace_send(s, err);
    if (rc == 0)
        rc = local_helper_env_make(environ, &env, err);
    if (rc == 0)
        rc = argv_append(&env, mark, err);
    spec.env = env;
    if (rc == 0)
        rc = child_spawn(&spec, &s->process, err);
    argv_free(env);
    close(ends[1]);
    return rc;
}

int pmix_server_start(int n_workers, const char *private_dir, const char *mark,
                      struct pmix_server **out, struct error *err)
{
    static int n_started;
    struct pmix_server *s;
    char **argv = NULL;
    int rc;

    if (n_workers < 1)
        return error_set(err, RAYTRAIN_EINVAL, "PMIx server: %d workers", n_workers);
    s = calloc(1, sizeof *s);
    if (!s || !(s->joined = calloc((size_t)n_workers, sizeof *s->joined))) {
        free(s);
        return error_no_memory(err);
    }
    s->n_workers = n_workers;
    s->process = (struct child)CHILD_INIT;
    s->socket = -1;
    rc = group_write(n_workers, private_dir, err);
    if (rc == 0)
        rc = arguments_make(private_dir, n_started++, &argv, err);
    if (rc == 0)
        rc = server_process_start(s, argv, mark, err);
    argv_free(argv);
    if (rc < 0)
        pmix_server_stop(s);
    else
        *out = s;
    return rc;
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
    return s->process.pid;
}

int pmix_server_fd(const struct pmix_server *s)
{
    return s->socket;
}

/* Kill a server that stays stopped: workers would hang. */
static void stopped_check(struct pmix_server *s)
{
    siginfo_t info = {0};
    double now = clock_now();

    if (waitid(P_PID, (id_t)s->process.pid, &info, WSTOPPED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        s->stopped_since = 0;
    else if (s->stopped_since == 0)
        s->stopped_since = now;
    else if (now - s->stopped_since > STOPPED_MAX_S ||
             fault_point("pmix.stopped", 0) < 0)
        kill(s->process.pid, SIGKILL);
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

void pmix_server_outlive(struct pmix_server *s)
{
    (void)pmix_text_send(s->socket, PMIX_MESSAGE_OUTLIVE, -1, 0, "");
}

void pmix_server_stop(struct pmix_server *s)
{
    int saved = errno;

    if (!s)
        return;
    if (s->socket >= 0)
        close(s->socket);
    child_clear(&s->process);
    free(s->joined);
    free(s);
    errno = saved;
}
