/*
 * server_process.c - the main loop of raytrain-pmix: messages from the owner, and
 * upcalls from pmix_host.c.
 */
#include "pmix/server_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pmix/message.h"
#include "pmix/pmix_host.h"
#include "util/argv.h"
#include "util/descriptors.h"

static int server_socket;

static void abort_send(int rank, int status, const char *msg)
{
    (void)pmix_text_send(server_socket, PMIX_MESSAGE_ABORT, rank, status, msg);
}

static void joined_send(int rank)
{
    (void)pmix_text_send(server_socket, PMIX_MESSAGE_JOINED, rank, 0, "");
}

static void left_send(int rank)
{
    (void)pmix_text_send(server_socket, PMIX_MESSAGE_LEFT, rank, 0, "");
}

/* Without its owner the server ends; see pmix_server_run(). */
static void fence_send(const char *data, size_t n)
{
    (void)pmix_fence_send(server_socket, data, n);
}

static int env_send(int rank, struct error *err)
{
    struct pmix_message m = {.kind = PMIX_MESSAGE_ENV, .rank = rank};
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
    return pmix_message_send(server_socket, &m);
}

int pmix_server_detach(int fd)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE};
    const int mine = STDERR_FILENO + 1;
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        _exit(1);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_NAME, "raytrain-pmix");
    fd = fcntl(fd, F_DUPFD_CLOEXEC, mine);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(fd, mine);
    (void)descriptors_close(mine + 1, -1);
    return mine;
}

/* The owner is dead: stay as long as the process that holds the directory. That one
 * also kills this process. */
static void owner_outlive(const char *private_dir)
{
    int dir = open(private_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    while (dir >= 0 && flock(dir, LOCK_EX) < 0 && errno == EINTR)
        continue;
}

/* Handle the owner's messages: the ends of fences. Returns when the owner has closed
 * its end, and this process need not outlive it. */
static void owner_hear(const char *private_dir)
{
    static struct pmix_message m;
    char *data = NULL;
    size_t n = 0;
    bool outlives = false;

    while (pmix_message_receive(server_socket, true, &m) > 0) {
        int last = m.kind == PMIX_MESSAGE_FENCE ? pmix_fence_append(&m, &data, &n) : 0;

        if (m.kind == PMIX_MESSAGE_OUTLIVE)
            outlives = prctl(PR_SET_PDEATHSIG, 0) == 0;
        if (last < 0)
            return;
        if (last) {
            pmix_host_fence_end(data, n);
            data = NULL;
            n = 0;
        }
    }
    if (outlives)
        owner_outlive(private_dir);
}

/* Receive the first message. NULL: there is none, since the owner has ended. */
static const char *namespace_hear(void)
{
    static struct pmix_message m;

    if (pmix_message_receive(server_socket, true, &m) <= 0 ||
        m.kind != PMIX_MESSAGE_NAMESPACE || m.n == 0)
        return NULL;
    m.text[m.n - 1] = '\0';
    return m.text;
}

void pmix_server_run(int socket, const struct pmix_group *group,
                     const char *private_dir)
{
    const struct pmix_host_events events = {.joined = joined_send,
                                            .left = left_send,
                                            .aborted = abort_send,
                                            .fence = fence_send};
    const char *nspace;
    struct error err;
    int rc;

    server_socket = socket;
    nspace = namespace_hear();
    if (!nspace)
        _exit(1);
    rc = pmix_host_start(group, nspace, private_dir, &events, &err);
    for (int rank = 0; rc == 0 && rank < group->size; rank++)
        if (group->node_of[rank] == group->node)
            rc = env_send(rank, &err);
    if (rc < 0)
        (void)pmix_text_send(server_socket, PMIX_MESSAGE_ERROR, -1, (int)err.code,
                             err.text);
    owner_hear(private_dir);
    _exit(0);
}
