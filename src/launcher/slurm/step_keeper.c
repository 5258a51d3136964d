/* step_keeper.c - starts raytrain-keeper, and sends it messages. What the keeper does
 * is in step_keeper_process.c. */
#include "config.h"

#include "slurm/step_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/argv.h"
#include "util/installed.h"

static int arguments_make(char *const *srun, int messages, int output, bool lines,
                          char ***argv, struct error *err)
{
    char program[PATH_MAX];

    if (installed_program("raytrain-keeper", program, sizeof program, err) < 0 ||
        argv_append(argv, program, err) < 0 || argv_append(argv, "step", err) < 0 ||
        argv_appendf(argv, err, "%d", messages) < 0 ||
        argv_appendf(argv, err, "%d", output) < 0 ||
        argv_append(argv, lines ? "lines" : "silent", err) < 0)
        return -1;
    return argv_append_all(argv, srun, err);
}

/* Gives the keeper the pipe of srun's messages and one end of the socket. */
static int process_start(struct step_keeper *k, char *const *srun, char *const *env,
                         struct step_output output, bool lines, const int pipe[2],
                         int socket, struct error *err)
{
    struct child_spec spec = {.env = env,
                              .in = socket,
                              .out = output.out < 0 ? STDERR_FILENO : output.out,
                              .err = pipe[1],
                              .kept = pipe[0],
                              .kept_too = output.reader,
                              .own_session = true};
    char **argv = NULL;
    int rc = arguments_make(srun, pipe[0], output.reader, lines, &argv, err);

    spec.argv = argv;
    if (rc == 0)
        rc = child_spawn(&spec, &k->process, err);
    /* srun's helper process kills the tasks when srun is killed: it must not be killed
     * with the process group. */
    k->process.group = false;
    argv_free(argv);
    return rc;
}

static int pipe_make(int ends[2], struct error *err)
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    error_set(err, RAYTRAIN_ENOMEM, "cannot watch srun: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return -1;
}

int step_keeper_start(struct step_keeper *k, char *const *srun, char *const *env,
                      struct step_output output, bool lines, int *messages,
                      struct error *err)
{
    int ends[2], sockets[2], rc;

    if (pipe_make(ends, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
        error_set(err, RAYTRAIN_ENOMEM, "cannot make a socket pair: %s",
                  strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    k->socket = sockets[0];
    *messages = ends[0];
    rc = process_start(k, srun, env, output, lines, ends, sockets[1], err);
    close(sockets[1]);
    close(ends[1]);
    return rc;
}

/* A keeper that has ended does not need a signal. */
int step_keeper_signal(const struct step_keeper *k, int sig, struct error *err)
{
    if (sig == SIGKILL)
        return child_signal(&k->process, SIGKILL, err);
    if (send(k->socket, &sig, sizeof sig, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
        errno == EPIPE || errno == ECONNRESET)
        return 0;
    return error_set(err, RAYTRAIN_EFAILED, "cannot send signal %d to srun: %s", sig,
                     strerror(errno));
}

int step_keeper_say(const struct step_keeper *k, const char *line, struct error *err)
{
    char text[STEP_LINE_MAX] = "";

    snprintf(text, sizeof text, "%s", line);
    if (send(k->socket, text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM, "cannot send the tasks an order: %s",
                     strerror(errno));
}

void step_keeper_order(const struct step_keeper *k, const struct finish_terms *terms,
                       int seconds)
{
    (void)finish_order(k->socket, terms, seconds);
}

void step_keeper_clear(struct step_keeper *k)
{
    child_clear(&k->process);
    if (k->socket >= 0)
        close(k->socket);
    k->socket = -1;
}
