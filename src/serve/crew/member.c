/*
 * member.c - one member: its socket, its connection, the sign of life of its worker,
 * and its child from start to end. The groups are in crew.c.
 */
#include "config.h"

#include "crew/member.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/argv.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/process.h"

#define SHORT_LIFE_S 10.0 /* a child that lived shorter is not started again at once */
#define PAUSE_MAX_S  32.0
#define BEAT_TICKS   6    /* checks for signs of life within silent_s */
#define STARVED      10   /* factor of silent_s for a worker that waits for a CPU */
#define KILL_WAIT_S  10.0 /* until a child is killed whose worker was killed */
#define EMPTY_WAIT_S 60.0 /* or whose worker has ended */

struct member {
    const struct member_env *env;
    void *group;
    int number, index;
    char *checkpoint, *socket_path;
    char *run; /* run directory of the present or the last child */
    int listener;
    int fd;         /* a connection without a hello; -1: none */
    pid_t pid;      /* process that has connected; <= 0: not known here */
    int beat_fd;    /* connection for signs of life; -1: none */
    int beat_timer; /* -1: none */
    int silent;     /* consecutive checks without one */
    struct child child;
    double started;
    int starts;
    int short_lives; /* consecutive */
    int timer;       /* until the next start, or the kill; -1: none */
    bool joined, retired, ended;
    bool proven;  /* a worker has loaded the model */
    bool doubted; /* it ended when none had */
    bool hung;    /* the worker of the present child hung and was killed */
};

/* ---- Its socket ---- */

static int on_connection(void *arg, struct error *err);

static int socket_listen(struct member *m, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (asprintf(&m->socket_path, "%s/%d", m->env->sockets, m->number) < 0) {
        m->socket_path = NULL;
        return error_no_memory(err);
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

/* The socket's directory is private to this user; this refuses connections of root. */
static bool is_ours(int fd, pid_t *pid)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return false;
    *pid = peer.pid;
    return peer.uid == geteuid();
}

static void connection_drop(struct member *m)
{
    if (m->fd >= 0) {
        event_loop_remove(m->env->loop, m->fd);
        close(m->fd);
    }
    m->fd = -1;
}

/* A worker connects before it loads its model, and sends a hello after that. */
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
    m->joined = m->proven = true;
    m->env->joined(m->env->arg, m, fd);
    return 0;
}

/* ---- The sign of life of its worker ---- */

static void timer_stop(struct member *m)
{
    if (m->timer >= 0)
        event_loop_remove(m->env->loop, m->timer);
    m->timer = -1;
}

static void beats_end(struct member *m)
{
    if (m->beat_timer >= 0)
        event_loop_remove(m->env->loop, m->beat_timer);
    if (m->beat_fd >= 0)
        close(m->beat_fd);
    m->beat_timer = m->beat_fd = -1;
}

static int on_grace_over(void *arg, struct error *err)
{
    struct member *m = arg;

    timer_stop(m);
    return child_signal_group(&m->child, SIGKILL, err);
}

/* Give the child a time limit to end. */
static void kill_later(struct member *m, double seconds)
{
    struct error err;

    timer_stop(m);
    if (event_loop_every(m->env->loop, seconds, on_grace_over, m, &m->timer, &err) < 0)
        child_signal_group(&m->child, SIGKILL, &err);
}

/* The child detects the end of its worker, and ends in the ordinary way. */
static void worker_kill(struct member *m)
{
    char text[ERROR_TEXT_MAX];
    struct error err;

    beats_end(m);
    m->hung = true;
    snprintf(text, sizeof text,
             "worker %d gives no sign of life for %g s, and is killed", m->number,
             m->silent * m->env->silent_s / BEAT_TICKS);
    m->env->note(m->env->arg, m, text);
    if (m->pid > 0 && kill(m->pid, SIGKILL) == 0)
        kill_later(m, KILL_WAIT_S);
    else
        child_signal_group(&m->child, SIGKILL, &err);
}

/* On a busy machine the thread that sends the signs may not get a CPU for long. */
static bool is_hung(const struct member *m)
{
    return m->silent >= BEAT_TICKS * STARVED ||
           (m->silent >= BEAT_TICKS && !process_is_runnable(m->pid));
}

static int on_beat_tick(void *arg, struct error *err)
{
    struct member *m = arg;
    char bytes[64];
    ssize_t n;

    (void)err;
    m->silent++;
    while ((n = recv(m->beat_fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        m->silent = 0;
    if (n == 0) { /* it has ended */
        beats_end(m);
        if (!m->retired)
            kill_later(m, EMPTY_WAIT_S);
    } else if (is_hung(m)) {
        worker_kill(m);
    }
    return 0;
}

/* Missed periods of the timer count once: after this process was stopped, workers get
 * time. */
static int beats_begin(struct member *m, int fd, struct error *err)
{
    m->beat_fd = fd;
    m->silent = 0;
    return event_loop_every(m->env->loop, m->env->silent_s / BEAT_TICKS, on_beat_tick,
                            m, &m->beat_timer, err);
}

/* ---- Connections ---- */

static int first_begin(struct member *m, int fd, struct error *err)
{
    if (event_loop_add(m->env->loop, fd, on_first_bytes, m, err) < 0) {
        close(fd);
        return -1;
    }
    m->fd = fd;
    return 0;
}

static int on_connection(void *arg, struct error *err)
{
    struct member *m = arg;
    int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    pid_t pid;

    if (fd < 0)
        return 0;
    if (!m->retired && m->child.pid > 0 && is_ours(fd, &pid)) {
        if (!m->joined && m->fd < 0) {
            m->pid = pid;
            return first_begin(m, fd, err);
        }
        if (m->beat_fd < 0 && !m->hung && pid == m->pid)
            return beats_begin(m, fd, err);
    }
    close(fd);
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

/* Do not use a member after calling `ended`, which may destroy it. */
static void member_end(struct member *m, const struct error *why)
{
    timer_stop(m);
    m->ended = true;
    m->env->ended(m->env->arg, m, why);
}

static void end_say(const struct member *m, int status, struct error *why)
{
    const char *when = m->joined ? "" : " before its model was loaded";

    if (WIFSIGNALED(status))
        error_set(why, RAYTRAIN_EFAILED,
                  "worker %d was killed by signal %d%s; its logs are in %s", m->number,
                  WTERMSIG(status), when, m->run);
    else
        error_set(why, error_code_of(WEXITSTATUS(status)),
                  "worker %d ended with status %d%s; its logs are in %s", m->number,
                  WEXITSTATUS(status), when, m->run);
}

static void again_or_end(struct member *m, const struct error *why);

static int on_pause_over(void *arg, struct error *err)
{
    struct member *m = arg;
    struct error why;

    (void)err;
    timer_stop(m);
    if (child_start(m, &why) < 0)
        again_or_end(m, &why);
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

    bool is_short = !m->joined || clock_now() - m->started < SHORT_LIFE_S;

    m->short_lives = is_short ? m->short_lives + 1 : 0;
    m->env->note(m->env->arg, m, why);
    if (pause_of(m) == 0)
        on_pause_over(m, NULL);
    else if (event_loop_every(m->env->loop, pause_of(m), on_pause_over, m, &m->timer,
                              &err) < 0)
        member_end(m, &err);
}

/* Otherwise the next child could not load it, either. */
static bool is_checkpoint_gone(const struct member *m)
{
    struct stat st;

    return stat(m->checkpoint, &st) < 0 && errno == ENOENT;
}

static void again_or_end(struct member *m, const struct error *why)
{
    bool more = m->env->max_failures < 0 || m->starts <= m->env->max_failures;

    if (!more || (!m->joined && is_checkpoint_gone(m))) {
        member_end(m, why);
    } else if (m->proven) {
        next_prepare(m, why->text);
    } else {
        m->doubted = true;
        member_end(m, why);
    }
}

static void child_ended(struct member *m, int status)
{
    struct error why;

    connection_drop(m);
    beats_end(m);
    timer_stop(m);
    if (m->retired) {
        member_end(m, NULL);
        return;
    }
    end_say(m, status, &why);
    again_or_end(m, &why);
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
        return error_no_memory(err);
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

    m->started = clock_now();
    m->starts++;
    m->joined = m->hung = false;
    if (rc == 0)
        rc = variables_make(m, &variables, err);
    spec.env = variables;
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
        return error_no_memory(err);
    }
    m->env = env;
    m->group = group;
    m->number = number;
    m->index = index;
    m->listener = m->fd = m->timer = m->beat_fd = m->beat_timer = -1;
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
    beats_end(m);
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

void member_retire(struct member *m, double grace_s)
{
    struct error err;

    if (m->ended)
        return;
    m->retired = true;
    connection_drop(m);      /* time limit for a worker that has just connected */
    if (m->child.pid <= 0) { /* it is in a pause */
        member_end(m, NULL);
        return;
    }
    if (!m->joined)
        child_signal(&m->child, SIGTERM, &err);
    kill_later(m, grace_s);
}

bool member_prove(struct member *m)
{
    bool starts = m->ended && m->doubted && !m->retired;

    m->proven = true;
    m->doubted = false;
    if (!starts)
        return false;
    m->ended = false;
    next_prepare(m, "another worker has loaded the model: this one is started again");
    return true;
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
