/* keeper.c - starts raytrain-keeper, and sends it messages over a socket. What the
 * keeper does is in keeper_process.c. */
#include "local/keeper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/child_env.h"
#include "local/keeper_process.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/fs.h"
#include "util/installed.h"
#include "util/private_dir.h"

extern char **environ;

struct keeper {
    struct child process;
    /* only this process has it: the keeper reads its end when this process dies */
    int socket;
    int hold;   /* a lock on dir, since the keeper may be killed */
    char dir[PATH_MAX];
    char mark[KEEPER_MARK_MAX];
};

int keeper_ready(struct keeper *k, struct error *err)
{
    struct keeper_hello hello;
    ssize_t got;

    do
        got = recv(k->socket, &hello, sizeof hello, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got != (ssize_t)sizeof hello)
        return error_set(err, RAYTRAIN_ECOMM,
                         "the process that cleans up after the workers has died");
    if (hello.failed)
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "cannot make the directory %s: %s: set TMPDIR to a "
                         "directory that you can write to",
                         hello.dir, strerror(hello.failed));
    memcpy(k->dir, hello.dir, sizeof k->dir);
    keeper_mark_make(k->dir, k->mark);
    k->hold = private_dir_hold(k->dir);
    if (k->hold < 0)
        return fs_error(err, "open", k->dir);
    return 1;
}

/* In a new session from the start, out of reach of Ctrl-C. It does not keep the user's
 * pipes open. */
static int keeper_process_start(struct keeper *k, char *const *argv, struct error *err)
{
    struct child_spec spec = {
        .argv = argv, .dir = "/", .out = -1, .err = -1, .own_session = true};
    char **env = NULL;
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a socket pair: %s",
                         strerror(errno));
    k->socket = ends[0];
    spec.in = ends[1];
    rc = local_helper_env_make(environ, &env, err);
    spec.env = env;
    if (rc == 0)
        rc = child_spawn(&spec, &k->process, err);
    argv_free(env);
    close(ends[1]);
    return rc;
}

int keeper_start(struct keeper **out, struct error *err)
{
    static int n_started;
    struct keeper *k = calloc(1, sizeof *k);
    char program[PATH_MAX], **argv = NULL;
    int rc;

    if (!k)
        return error_no_memory(err);
    k->process = (struct child)CHILD_INIT;
    k->socket = k->hold = -1;
    rc = installed_program("raytrain-keeper", program, sizeof program, err);
    if (rc == 0)
        rc = argv_append(&argv, program, err);
    if (rc == 0)
        rc = argv_append(&argv, "local", err);
    if (rc == 0)
        rc = argv_appendf(&argv, err, "%d", n_started++);
    if (rc == 0)
        rc = keeper_process_start(k, argv, err);
    argv_free(argv);
    if (rc < 0)
        keeper_stop(k);
    else
        *out = k;
    return rc;
}

const char *keeper_dir(const struct keeper *k)
{
    return k->dir;
}

const char *keeper_mark(const struct keeper *k)
{
    return k->mark;
}

int keeper_socket(const struct keeper *k)
{
    return k->socket;
}

void keeper_forget(const struct keeper *k, pid_t group)
{
    pid_t message = -group;

    /* A keeper that was killed does not need the message. One that does not read its
     * messages could later kill a reused group id. */
    if (send(k->socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno == EAGAIN)
        kill(k->process.pid, SIGKILL);
}

/* Without the order the keeper kills the workers. */
void keeper_order(const struct keeper *k, const struct finish_terms *terms)
{
    (void)finish_order(k->socket, terms, terms->seconds);
}

void keeper_stop(struct keeper *k)
{
    int saved = errno;

    if (!k)
        return;
    if (!k->dir[0] && k->socket >= 0)
        (void)keeper_ready(k, NULL); /* it may have made the directory by now */
    if (k->dir[0])
        fs_remove_tree(k->dir, NULL);
    child_clear(&k->process);
    if (k->socket >= 0)
        close(k->socket);
    if (k->hold >= 0)
        close(k->hold);
    free(k);
    errno = saved;
}
