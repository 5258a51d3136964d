/*
 * member.c - in order: the socket of a member; its connection; its child, from start to
 * end; life.
 */
#include "config.h"

#include "crew/member.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/argv.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/fs.h"

#define SHORT_LIFE_S 10.0 /* of a child that is not to be started again at once */
#define PAUSE_MAX_S  32.0

struct member {
    const struct member_env *env;
    void *group;
    int number, index;
    char *checkpoint, *socket_path;
    char *run; /* of the present child, or the last one */
    int listener;
    int fd; /* of a connection that has not said anything; -1: none */
    struct child child;
    double started;
    int starts;
    int short_lives; /* in a row */
    int timer;       /* until the next start, or the kill; -1: none */
    bool joined, retired, ended;
};

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* ---- Its socket ---- */

static int on_connection(void *arg, struct error *err);

static int socket_listen(struct member *m, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (asprintf(&m->socket_path, "%s/%d", m->env->sockets, m->number) < 0) {
        m->socket_path = NULL;
        return no_memory(err);
    }
    if (strlen(m->socket_path) >= sizeof at.sun_path)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "the path of a socket is too long: %s; set TMPDIR to a shorter "
            "directory",
            m->socket_path);
    strcpy(at.sun_path, m->socket_path);
    m->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (m->listener < 0 ||
        bind(m->listener, (const struct sockaddr *)&at, sizeof at) < 0 ||
        listen(m->listener, 1) < 0)
        return fs_error(err, "listen at", m->socket_path);
    return event_loop_add(m->env->loop, m->listener, on_connection, m, err);
}

/* ---- Its connection ---- */

/* Only processes of this user know the socket; this is for one of root's. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           peer.uid == geteuid();
}

static void connection_drop(struct member *m)
{
    if (m->fd >= 0) {
        event_loop_remove(m->env->loop, m->fd);
        close(m->fd);
    }
    m->fd = -1;
}

/* It connects before it loads its model, and says something after that. */
static int on_first_bytes(void *arg, struct error *err)
{
    struct member *m = arg;
    int fd = m->fd;
    char byte;

    (void)err;
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
        connection_drop(m);
        return 0;
    }
    event_loop_remove(m->env->loop, fd);
    m->fd = -1;
    m->joined = true;
    m->env->joined(m->env->arg, m, fd);
    return 0;
}

static int on_connection(void *arg, struct error *err)
{
    struct member *m = arg;
    int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return 0;
    if (m->joined || m->retired || m->fd >= 0 || m->child.pid <= 0 || !is_ours(fd)) {
        close(fd);
        return 0;
    }
    if (event_loop_add(m->env->loop, fd, on_first_bytes, m, err) < 0) {
        close(fd);
        return -1;
    }
    m->fd = fd;
    return 0;
}

/* ---- The child ---- */

static int child_start(struct member *m, struct error *err);

static int variables_make(const struct member *m, char ***out, struct error *err)
{
    static const char *const ours[] = {MEMBER_SOCKET, MEMBER_CHECKPOINT, MEMBER_RUN,
                                       MEMBER_CONFIG};
    const char *values[] = {m->socket_path, m->checkpoint, m->run,
                            m->env->config ? m->env->config : ""};
    int rc = argv_append_all(out, environ, err);

    for (size_t i = 0; i < sizeof ours / sizeof *ours && rc == 0; i++)
        rc = argv_appendf(out, err, "%s=%s", ours[i], values[i]);
    if (rc == 0)
        rc = argv_appendf(out, err, MEMBER_INDEX "=%d", m->index);
    return rc;
}

static void timer_stop(struct member *m)
{
    if (m->timer >= 0)
        event_loop_remove(m->env->loop, m->timer);
    m->timer = -1;
}

/* No member is touched after its `ended`, which may destroy it. */
static void member_end(struct member *m, const char *why)
{
    timer_stop(m);
    m->ended = true;
    m->env->ended(m->env->arg, m, why);
}

static void end_say(const struct member *m, int status, char *text, size_t size)
{
    const char *when = m->joined ? "" : " before its model was loaded";

    if (WIFSIGNALED(status))
        snprintf(text, size, "worker %d was killed by signal %d%s; its logs are in %s",
                 m->number, WTERMSIG(status), when, m->run);
    else
        snprintf(text, size, "worker %d ended with status %d%s; its logs are in %s",
                 m->number, WEXITSTATUS(status), when, m->run);
}

static int on_pause_over(void *arg, struct error *err)
{
    struct member *m = arg;
    struct error why;

    (void)err;
    timer_stop(m);
    if (child_start(m, &why) < 0)
        member_end(m, why.text);
    return 0;
}

static double pause_of(const struct member *m)
{
    double pause = m->short_lives > 1 ? 0.5 : 0;

    for (int i = 1; i < m->short_lives && pause < PAUSE_MAX_S; i++)
        pause *= 2;
    return pause;
}

static void next_prepare(struct member *m, const char *why)
{
    struct error err;

    m->short_lives = clock_now() - m->started < SHORT_LIFE_S ? m->short_lives + 1 : 0;
    m->env->restarts(m->env->arg, m, why);
    if (pause_of(m) == 0)
        on_pause_over(m, NULL);
    else if (event_loop_every(m->env->loop, pause_of(m), on_pause_over, m, &m->timer,
                              &err) < 0)
        member_end(m, err.text);
}

static void child_ended(struct member *m, int status)
{
    bool more = m->env->max_failures < 0 || m->starts <= m->env->max_failures;
    char why[ERROR_TEXT_MAX];

    connection_drop(m);
    if (m->retired) {
        member_end(m, NULL);
        return;
    }
    end_say(m, status, why, sizeof why);
    if (m->joined && more)
        next_prepare(m, why);
    else
        member_end(m, why);
}

static int on_child(void *arg, struct error *err)
{
    struct member *m = arg;
    int status, fd = m->child.pidfd;
    bool gone;

    if (child_reap(&m->child, &gone, &status, err) < 0)
        return -1;
    if (gone) {
        event_loop_remove(m->env->loop, fd);
        child_ended(m, status);
    }
    return 0;
}

static int run_name(struct member *m, struct error *err)
{
    free(m->run);
    if (asprintf(&m->run, "%s/worker-%d.%d", m->env->runs, m->number, m->starts) < 0) {
        m->run = NULL;
        return no_memory(err);
    }
    return 0;
}

static int child_start(struct member *m, struct error *err)
{
    struct child_spec spec = {.argv = m->env->argv,
                              .in = -1,
                              .out = -1,
                              .err = STDERR_FILENO,
                              .own_group = true,
                              .die_with_parent = true};
    char **variables = NULL;
    int rc = run_name(m, err);

    if (rc == 0)
        rc = variables_make(m, &variables, err);
    spec.env = variables;
    m->started = clock_now();
    m->starts++;
    m->joined = false;
    if (rc == 0)
        rc = child_spawn(&spec, &m->child, err);
    argv_free(variables);
    if (rc == 0)
        rc = event_loop_add(m->env->loop, m->child.pidfd, on_child, m, err);
    if (rc < 0)
        child_clear(&m->child);
    return rc;
}

/* ---- Life ---- */

int member_create(const struct member_env *env, int number, int index,
                  const char *checkpoint, void *group, struct member **out,
                  struct error *err)
{
    struct member *m = calloc(1, sizeof *m);

    if (!m || !(m->checkpoint = strdup(checkpoint))) {
        free(m);
        return no_memory(err);
    }
    m->env = env;
    m->group = group;
    m->number = number;
    m->index = index;
    m->listener = m->fd = m->timer = -1;
    m->child = (struct child)CHILD_INIT;
    if (socket_listen(m, err) < 0 || child_start(m, err) < 0) {
        member_destroy(m);
        return -1;
    }
    *out = m;
    return 0;
}

void member_destroy(struct member *m)
{
    if (!m)
        return;
    timer_stop(m);
    connection_drop(m);
    if (m->child.pid > 0) {
        event_loop_remove(m->env->loop, m->child.pidfd);
        child_clear(&m->child);
    }
    if (m->listener >= 0) {
        event_loop_remove(m->env->loop, m->listener);
        close(m->listener);
    }
    if (m->socket_path)
        unlink(m->socket_path);
    free(m->socket_path);
    free(m->checkpoint);
    free(m->run);
    free(m);
}

static int on_grace_over(void *arg, struct error *err)
{
    struct member *m = arg;

    timer_stop(m);
    return child_signal_group(&m->child, SIGKILL, err);
}

void member_retire(struct member *m, double grace_s)
{
    struct error err;

    if (m->ended)
        return;
    m->retired = true;
    connection_drop(m);      /* a worker that has just connected ends by that */
    if (m->child.pid <= 0) { /* in a pause */
        member_end(m, NULL);
        return;
    }
    if (!m->joined)
        child_signal(&m->child, SIGTERM, &err);
    timer_stop(m);
    if (event_loop_every(m->env->loop, grace_s, on_grace_over, m, &m->timer, &err) < 0)
        child_signal_group(&m->child, SIGKILL, &err);
}

void *member_group(const struct member *m)
{
    return m->group;
}

const char *member_checkpoint(const struct member *m)
{
    return m->checkpoint;
}

bool member_has_joined(const struct member *m)
{
    return m->joined;
}
