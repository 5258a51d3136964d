/*
 * command.c - the loop of a command (loop/loop.h): starts it as a child, serves it
 * until it ends, and says how it has ended.
 *
 * The child is started by the main thread, so that it dies with this process
 * (PR_SET_PDEATHSIG), and leads a process group of its own, so that a `kill 0` in a
 * script does not reach its companion.
 */
#include "loop/loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/companion.h"
#include "command/container.h"
#include "command/environment.h"
#include "command/session_requests.h"
#include "command/session_socket.h"
#include "protocol/worker_env.h"
#include "rank/event.h"
#include "rank/failure_record.h"
#include "rank/process_guard.h"
#include "session/session_life.h"
#include "session/setting_notes.h"
#include "util/argv.h"
#include "util/quote.h"
#include "util/thread.h"

/* The exit status of a process that its session has asked to end. */
#define EXIT_STOPPED 75

/* When a command has ended during a request, its companion may be waiting for other
 * ranks. It gets this long to finish the request; what it does after that, such as
 * releasing memory, has no limit. */
#define LOST_WAIT_MS 200
/* When a command has ended because another rank failed, wait this long for the record
 * of that failure: longer than the companion of that rank waits. */
#define ABORT_WAIT_MS 1000
#define POLL_MS       10

struct command {
    struct companion companion;
    struct session_socket socket;
    char **argv, **env;
    char *name; /* the command as one line */
    /* A thread that ends this process if the child ends during a request, which may
     * wait for other ranks. */
    pthread_t guard;
    bool guarded;
    int finished; /* an eventfd: the main thread has noticed the end */
};

extern char **environ;

/* ---- How it has ended ---- */

/* What its backend says about that, or what its container lacked. NULL: nothing. */
static const char *remark_find(const struct command *m, bool well, char *room,
                               size_t size)
{
    const struct backend *b = m->companion.ctx->env.backend;
    const char *remark = b->ops->remark ? b->ops->remark(b, well) : NULL;

    if (!remark && !m->companion.client.ever &&
        container_remark(m->argv, m->env, well, room, size))
        return room;
    return remark;
}

static void ending_text(const struct command *m, int status, char *text, size_t size)
{
    char room[ERROR_TEXT_MAX / 2];
    const char *why = remark_find(m, false, room, sizeof room);
    int n;

    if (WIFSIGNALED(status))
        n = snprintf(text, size, "the command `%.600s` was killed by signal %d (%s)",
                     m->name, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        n = snprintf(text, size, "the command `%.600s` ended with exit status %d",
                     m->name, WEXITSTATUS(status));
    if (why && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ": %s", why);
}

/* The exception that the client did not catch, and the end of the traceback, as far as
 * there is room. */
static int uncaught_text(const struct companion *c, char *text, size_t size)
{
    const size_t room = size / 2;
    const char *tail = c->traceback;

    if (strlen(tail) > room) {
        tail += strlen(tail) - room;
        tail += strcspn(tail, "\n");
    }
    return snprintf(text, size, "%.1000s\n%s", c->uncaught, tail);
}

/* The latest call has failed: this may be why the command has ended. */
static void refusal_add(const struct companion *c, char *text, size_t size)
{
    size_t n = strlen(text);

    if (c->refused[0])
        snprintf(text + n, size - n, ", after a call that failed: %.1000s", c->refused);
}

/* A stop was requested, and a call has failed for it on all ranks. */
static int verdict_stopped(const struct companion *c)
{
    error_set(&c->ctx->error, RAYTRAIN_ESTOPPED, "stopped on request");
    return RAYTRAIN_ESTOPPED;
}

/* The result as that of a training function: 0, or a status, with ctx->error set. */
static int command_verdict(const struct command *m, int status)
{
    const struct companion *c = &m->companion;
    raytrain_status code = RAYTRAIN_EFAILED;
    char text[ERROR_TEXT_MAX];

    if (c->ctx->over)
        return verdict_stopped(c);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (c->ctx->ended_on_request)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_STOPPED && c->ctx->should_stop)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_STOPPED && c->stopped)
        return verdict_stopped(c);
    if (c->uncaught) {
        uncaught_text(c, text, sizeof text);
        code = c->uncaught_code;
    } else {
        ending_text(m, status, text, sizeof text);
        refusal_add(c, text, sizeof text);
    }
    error_set(&c->ctx->error, code, "%s", text);
    return (int)code;
}

/* The command itself, or a child of a shell script that has passed the status on. */
static bool has_aborted(int status)
{
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT
                               : WEXITSTATUS(status) == 128 + SIGABRT;
}

/* Has its last request failed because of another rank? */
static bool has_lost_another(const struct command *m)
{
    int rank;

    return sscanf(m->companion.refused, "rank %d: ", &rank) == 1 &&
           rank != m->companion.ctx->env.world->rank;
}

/* Wait for the record of another rank's failure. Libraries such as JAX and NCCL abort a
 * process that loses another one, often before the companion of that one has noticed;
 * and a script ends by the exception of a call that has failed on another rank. Only
 * the first failure is recorded, which should be the cause. */
static void first_await(const struct command *m, int status)
{
    const raytrain_context *ctx = m->companion.ctx;
    char *path = NULL;

    if (status == 0 || (!has_aborted(status) && !has_lost_another(m)) ||
        ctx->env.world->size == 1 || !(path = failure_path(ctx->env.log_dir)))
        return;
    for (int ms = 0; ms < ABORT_WAIT_MS && access(path, F_OK) < 0; ms += POLL_MS)
        poll(NULL, 0, POLL_MS);
    free(path);
}

/* ---- The guard ---- */

/* The wait status of the child, without reaping it. */
static int status_peek(const struct child *child)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return 0;
    return info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status & 0x7f;
}

/* The main thread waits for other ranks, but its command has ended: record that this
 * rank has failed, and exit, so that the others do not wait for it. */
static void guard_end(const struct command *m)
{
    raytrain_context *ctx = m->companion.ctx;
    struct failure failure = {.rank = ctx->env.world->rank, .exit_status = 1};
    int status = status_peek(&m->companion.child);
    struct error ignored;
    char text[ERROR_TEXT_MAX];

    ending_text(m, status, text, sizeof text);
    first_await(m, status);
    snprintf(failure.kind, sizeof failure.kind, "%s", failure_kind(RAYTRAIN_EFAILED));
    snprintf(failure.host, sizeof failure.host, "%s", ctx->env.world->host);
    snprintf(failure.message, sizeof failure.message,
             "%.3000s, in the middle of a call of its session", text);
    failure_record(ctx->env.log_dir, &failure, &ignored);
    session_linger(ctx);
    exit_now(1, false);
}

/* The client should have ended by its exception. Its pid is 0 if it is in another pid
 * namespace: then the child is killed. */
static void client_kill(const struct command *m)
{
    const raytrain_context *ctx = m->companion.ctx;
    uint64_t times;
    pid_t pid = m->companion.exiting;

    if (read(m->companion.exit_timer, &times, sizeof times) < 0)
        return; /* the timer was stopped */
    event_add(ctx->env.log_dir, EVENT_WARNING,
              "rank %d: process %d still runs %d s after an exception that it did not "
              "catch (run_config.exit_grace_s), and is killed: Python waits for its "
              "other threads; make them daemons, or let them end",
              ctx->env.world->rank, (int)pid, ctx->env.config->run_config.exit_grace_s);
    if (pid > 0)
        (void)kill(pid, SIGKILL);
    else
        (void)child_signal(&m->companion.child, SIGKILL, NULL);
}

static void *guard_run(void *arg)
{
    const struct command *m = arg;
    struct pollfd on[] = {{.fd = m->finished, .events = POLLIN},
                          {.fd = m->companion.child.pidfd, .events = POLLIN},
                          {.fd = m->companion.exit_timer, .events = POLLIN}};

    while (!on[0].revents && !on[1].revents) {
        if (poll(on, 3, -1) < 0)
            on[0].revents = on[1].revents = on[2].revents = 0;
        if (on[2].revents)
            client_kill(m);
    }
    while (!on[0].revents) {
        bool serving = m->companion.serving;

        if (poll(on, 1, LOST_WAIT_MS) == 0 && serving && m->companion.serving)
            guard_end(m);
    }
    return NULL;
}

static int guard_start(struct command *m, struct error *err)
{
    if (thread_start(&m->guard, guard_run, m, err) < 0)
        return -1;
    m->guarded = true;
    return 0;
}

static void guard_stop(struct command *m)
{
    const uint64_t one = 1;

    if (!m->guarded)
        return;
    while (write(m->finished, &one, sizeof one) < 0 && errno == EINTR)
        continue;
    pthread_join(m->guard, NULL);
    m->guarded = false;
}

/* ---- From start to end ---- */

static int command_spawn(struct command *m, struct error *err)
{
    const struct backend *backend = m->companion.ctx->env.backend;
    int kept = backend->ops->descriptor ? backend->ops->descriptor(backend) : -1;
    const struct child_spec spec = {.argv = m->argv,
                                    .env = m->env,
                                    .in = -1,
                                    .out = STDOUT_FILENO,
                                    .err = STDERR_FILENO,
                                    .own_group = true,
                                    .die_with_parent = true,
                                    .kept = kept,
                                    .ignored = WORKER_STOP_SIGNAL};

    return child_spawn(&spec, &m->companion.child, err);
}

static int facts_leave(const struct command *m, struct error *err)
{
    json_t *facts = session_facts(m->companion.ctx);
    int rc = session_socket_facts(&m->socket, facts, err);

    json_decref(facts);
    return rc;
}

static int command_start(struct command *m, struct error *err)
{
    m->companion.exit_timer =
        timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    m->finished = eventfd(0, EFD_CLOEXEC);
    if (m->finished < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make an event descriptor: %s",
                         strerror(errno));
    if (command_environment(m->companion.ctx, environ, m->socket.path, &m->env, err) <
        0)
        return -1;
    if (facts_leave(m, err) < 0 || command_spawn(m, err) < 0)
        return -1;
    return guard_start(m, err);
}

/* The path and the arguments. */
static int argv_make(const struct loop_source *source, char ***argv, struct error *err)
{
    *argv = NULL;
    if (argv_append(argv, source->path, err) == 0 &&
        (source->argc == 0 || argv_append_all(argv, source->argv, err) == 0))
        return 0;
    argv_free(*argv);
    *argv = NULL;
    return -1;
}

/* The companion has failed, not the command. */
static int command_fail(struct command *m, const struct error *why)
{
    error_set(&m->companion.ctx->error, why->code, "%s", why->text);
    return (int)why->code;
}

/* Warn about a command that has ended well but was not set up as it should be. */
static void well_remark(const struct command *m)
{
    const raytrain_context *ctx = m->companion.ctx;
    char room[ERROR_TEXT_MAX / 2];
    const char *remark = remark_find(m, true, room, sizeof room);

    if (remark && ctx->env.world->rank == 0)
        event_add(ctx->env.log_dir, EVENT_WARNING, "%s", remark);
}

/* Warn if the command has not read its settings, for example without a session. */
static void settings_remark(const raytrain_context *ctx)
{
    const json_t *config = ctx->env.config->train_loop_config;
    char quoted[QUOTE_TEXT_MAX];

    if (ctx->env.world->rank == 0 && setting_none_asked(ctx))
        event_add(
            ctx->env.log_dir, EVENT_WARNING,
            "the command has not asked for train_loop_config, which has %s%s: a "
            "Python script reads it from raytrain.config, another program gets "
            "its arguments after the command",
            quote(json_object_iter_key(json_object_iter((json_t *)config)), quoted),
            json_object_size(config) > 1 ? " and others" : "");
}

static int command_run(struct loop *loop, raytrain_context *ctx)
{
    struct command *m = loop->impl;
    struct error err;
    int status, rc;

    m->companion.ctx = ctx;
    if (argv_make(&loop->source, &m->argv, &err) < 0 ||
        argv_join(m->argv, &m->name, &err) < 0)
        return command_fail(m, &err);
    rc = command_start(m, &err);
    if (rc == 0)
        rc = companion_serve(&m->companion, &status, &err);
    guard_stop(m);
    if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        well_remark(m);
        settings_remark(ctx);
    }
    if (rc < 0)
        return command_fail(m, &err);
    first_await(m, status);
    return command_verdict(m, status);
}

/* Only the socket: a node without room for it fails before the ranks connect. */
static int command_open(struct loop *loop, struct error *err)
{
    struct command *m = calloc(1, sizeof *m);

    if (!m)
        return error_no_memory(err);
    loop->impl = m;
    m->finished = -1;
    m->companion.exit_timer = -1;
    m->companion.client.socket = -1;
    m->companion.child = (struct child)CHILD_INIT;
    if (session_socket_open(&m->socket, err) < 0)
        return -1;
    m->companion.listener = m->socket.listener;
    return 0;
}

static void command_close(struct loop *loop, bool clean)
{
    struct command *m = loop->impl;

    (void)clean;
    if (!m)
        return;
    guard_stop(m);
    companion_close(&m->companion);
    session_socket_close(&m->socket);
    if (m->finished >= 0)
        close(m->finished);
    if (m->companion.exit_timer >= 0)
        close(m->companion.exit_timer);
    argv_free(m->env);
    argv_free(m->argv);
    free(m->name);
    free(m);
    loop->impl = NULL;
}

const struct loop_ops loop_command = {
    .open = command_open,
    .run = command_run,
    .close = command_close,
};
