/*
 * task.c - the life of a task: attempts, one after the other.
 *
 *   The worker   is started, gets the signals that this process gets, and ends
 *   Orders       of the launcher, which may end it earlier
 *   Reports      of a worker that has failed, and of the end of an attempt
 *   An attempt   from the meeting of all tasks at its beginning to that at its end
 */
#include "config.h"

#include "task/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "protocol/events.h"
#include "protocol/failure.h"
#include "protocol/worker_env.h"
#include "rank/failure_record.h"
#include "rank/own_words.h"
#include "run/run_dir.h"
#include "task/task_group.h"
#include "task/task_orders.h"
#include "task/task_worker.h"
#include "util/argv.h"
#include "util/oom.h"
#include "util/process_mark.h"
#include "util/secret.h"

struct task {
    char *const *argv;
    struct worker_env env; /* of the first attempt */
    struct task_group *group;
    struct task_orders orders;
    int signals; /* a signalfd */
    int attempt; /* that runs, or has ended last */
    char *log_dir;
    char mark[SECRET_TEXT_MAX]; /* of the processes of its workers */
    struct child worker;        /* CHILD_INIT: it has ended */
    int left[2]; /* a pipe, to which it writes when it has left its group */
    struct oom_count oom;
    int status; /* of the worker that has ended, as of waitpid(2) */
    bool ends;  /* the launcher has ordered the end of the attempt */
};

/* ---- The worker ---- */

static int task_rank(const struct task *t)
{
    return task_group_world(t->group)->rank;
}

static bool status_is_clean(int status)
{
    return WIFEXITED(status) &&
           (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EX_TEMPFAIL);
}

static struct task_worker_spec worker_spec(const struct task *t)
{
    return (struct task_worker_spec){.argv = t->argv,
                                     .log_dir = t->log_dir,
                                     .mark = t->mark,
                                     .attempt = t->attempt,
                                     .rank = task_rank(t),
                                     .workers = t->env.workers,
                                     .left = t->left[1],
                                     .has_log = t->attempt == t->env.attempt};
}

static int worker_start(struct task *t, char *const *variables, struct error *err)
{
    struct task_worker_spec spec = worker_spec(t);

    spec.variables = variables;
    oom_count_init(&t->oom, "");
    return task_worker_start(&spec, &t->worker, err);
}

static int worker_reap(struct task *t, struct error *err)
{
    bool gone = false;

    return t->worker.pid > 0 ? child_reap(&t->worker, &gone, &t->status, err) : 0;
}

static int worker_kill(struct task *t, struct error *err)
{
    if (t->worker.pid <= 0)
        return 0;
    return child_signal_group(&t->worker, SIGKILL, err) < 0
               ? -1
               : child_wait(&t->worker, &t->status, err);
}

/* What has left the worker's process group: a command and its children. */
static void rest_kill(const struct task *t)
{
    char entry[sizeof WORKER_TASK_MARK "=" + SECRET_TEXT_MAX];

    snprintf(entry, sizeof entry, WORKER_TASK_MARK "=%s", t->mark);
    process_mark_kill(entry);
}

/* Has the worker said that it left the group at the end? */
static bool worker_has_left(struct task *t)
{
    char byte;

    return read(t->left[0], &byte, 1) == 1;
}

/* End as the worker has. */
static _Noreturn void end_by_signal(int sig)
{
    const struct rlimit none = {0, 0};
    sigset_t one;

    setrlimit(RLIMIT_CORE, &none);
    signal(sig, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + sig);
}

/* ---- Signals ---- */

/* All that a process can be sent but those of its own faults. They are read from a
 * descriptor; the threads of PMIx inherit the mask. */
static int signals_take(struct task *t, struct error *err)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
                              SIGTRAP, SIGSYS, SIGCHLD, SIGPIPE};
    sigset_t taken;

    sigfillset(&taken);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&taken, own[i]);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    t->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (t->signals < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a signal descriptor: %s",
                         strerror(errno));
    return 0;
}

/* Without a worker, only a request to end has a meaning. */
static void signals_pass(struct task *t)
{
    struct signalfd_siginfo one;

    while (read(t->signals, &one, sizeof one) == sizeof one)
        if (t->worker.pid > 0)
            (void)child_signal(&t->worker, (int)one.ssi_signo, NULL);
        else if (one.ssi_signo == SIGTERM)
            end_by_signal(SIGTERM);
}

/* ---- Reports ---- */

static int event_send(const struct task *t, json_t *event, struct error *err)
{
    int rc = event ? events_put(t->log_dir, event, err) : error_no_memory(err);

    json_decref(event);
    return rc;
}

static int failure_report(const struct task *t, struct error *err)
{
    const struct world *world = task_group_world(t->group);
    bool killed = WIFSIGNALED(t->status);

    return event_send(t,
                      json_pack("{s:s, s:i, s:s, s:i, s:b}", "kind", EVENT_TASK_FAILED,
                                "rank", world->rank, "host", world->host,
                                killed ? "signal" : "exit_status",
                                killed ? WTERMSIG(t->status) : WEXITSTATUS(t->status),
                                "oom", oom_count_grown(&t->oom)),
                      err);
}

/* What this process could not do is the failure of its rank, too. */
static int own_failure_record(struct task *t, const struct error *why)
{
    const struct world *world = t->group ? task_group_world(t->group) : NULL;
    struct failure failure = {.rank = world ? world->rank : -1,
                              .exit_status = error_exit_status(why->code)};
    struct error unrecorded;

    snprintf(failure.kind, sizeof failure.kind, "%s", failure_kind(why->code));
    snprintf(failure.message, sizeof failure.message, "%s", why->text);
    if (world)
        snprintf(failure.host, sizeof failure.host, "%s", world->host);
    if (t->log_dir)
        failure_record(t->log_dir, &failure, &unrecorded);
    return failure.exit_status;
}

/* ---- Orders ---- */

/* The next order, of those that have been read. */
static struct order order_wait(struct task *t, struct error *err)
{
    struct order order = task_orders_next(&t->orders);

    while (order.kind == ORDER_NONE && t->orders.fd >= 0) {
        struct pollfd on[] = {{.fd = t->orders.fd, .events = POLLIN},
                              {.fd = t->signals, .events = POLLIN}};

        if (poll(on, 2, -1) < 0 && errno != EINTR) {
            error_set(err, RAYTRAIN_EFAILED, "cannot wait for orders: %s",
                      strerror(errno));
            break;
        }
        if (on[1].revents)
            signals_pass(t);
        if (on[0].revents)
            task_orders_read(&t->orders);
        order = task_orders_next(&t->orders);
    }
    return order;
}

/* Orders that come while the worker runs: only the end of its attempt counts. */
static void orders_take(struct task *t)
{
    struct order order;

    task_orders_read(&t->orders);
    while ((order = task_orders_next(&t->orders)).kind != ORDER_NONE)
        t->ends = t->ends || (order.kind == ORDER_END && order.attempt == t->attempt);
}

/* ---- An attempt ---- */

static int worker_watch(struct task *t, struct error *err)
{
    while (t->worker.pid > 0 && !t->ends) {
        struct pollfd on[] = {{.fd = t->worker.pidfd, .events = POLLIN},
                              {.fd = t->signals, .events = POLLIN},
                              {.fd = t->orders.fd, .events = POLLIN},
                              {.fd = task_group_fd(t->group), .events = POLLIN}};

        if (poll(on, 4, -1) < 0 && errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "cannot wait for the worker: %s",
                             strerror(errno));
        if (on[1].revents)
            signals_pass(t);
        if (on[2].revents)
            orders_take(t);
        if (on[3].revents && task_group_take_part(t->group, err) < 0)
            return -1;
        if (on[0].revents && worker_reap(t, err) < 0)
            return -1;
    }
    return 0;
}

/* The worker has failed: the launcher decides. If it cannot learn of that, or is gone,
 * this process ends as the worker has. */
static int end_await(struct task *t, struct error *err)
{
    struct error unsent;

    if (failure_report(t, &unsent) < 0)
        return -1;
    while (!t->ends) {
        struct order order = order_wait(t, err);

        if (order.kind == ORDER_NONE)
            return -1;
        t->ends = order.kind == ORDER_END && order.attempt == t->attempt;
    }
    return 0;
}

static int worker_run(struct task *t, struct error *err)
{
    char **variables = NULL;
    int rc = task_group_begin(t->group, t->attempt, &variables, err);

    if (rc == 0)
        rc = worker_start(t, variables, err);
    argv_free(variables);
    if (rc == 0)
        return worker_watch(t, err);
    raytrain_worker_say("raytrain-task: %s", err->text);
    t->status = own_failure_record(t, err) << 8;
    *err = (struct error){0};
    return 0;
}

/* A worker that exits with status 0 while others wait for it. */
static void desertion_record(struct task *t)
{
    struct error why;

    error_set(&why, RAYTRAIN_EFAILED,
              "it left the group with exit status %d before its work was done: does it "
              "call _exit()? Return from train_func instead",
              WEXITSTATUS(t->status));
    t->status = own_failure_record(t, &why) << 8;
}

/* How the worker has ended, unless it is killed now. */
static enum rounds_end end_judge(struct task *t)
{
    bool left = worker_has_left(t);

    if (t->worker.pid > 0)
        return ROUNDS_END_FAILED;
    if (status_is_clean(t->status) && !left)
        desertion_record(t);
    return status_is_clean(t->status) ? ROUNDS_END_CLEAN : ROUNDS_END_FAILED;
}

/* One that has failed by itself is reported even if the attempt ends for another: it may
 * be the cause. */
static int failure_settle(struct task *t, bool by_itself, struct error *err)
{
    struct error unsent;

    if (!t->ends)
        return end_await(t, err);
    if (by_itself)
        (void)failure_report(t, &unsent);
    return 0;
}

/* *clean: the workers of all ranks have ended cleanly. */
static int attempt_run(struct task *t, bool *clean, struct error *err)
{
    enum rounds_end mine;
    bool by_itself;

    t->ends = false;
    if (worker_run(t, err) < 0)
        return -1;
    by_itself = t->worker.pid <= 0;
    mine = end_judge(t);
    if (worker_kill(t, err) < 0)
        return -1;
    rest_kill(t);
    if (mine == ROUNDS_END_FAILED && failure_settle(t, by_itself, err) < 0)
        return -1;
    if (task_group_end(t->group, mine, clean, err) < 0)
        return -1;
    if (*clean || task_rank(t) != 0)
        return 0;
    return event_send(t, json_pack("{s:s}", "kind", EVENT_ATTEMPT_OVER), err);
}

/* ---- Attempts ---- */

static int attempt_enter(struct task *t, int attempt, struct error *err)
{
    free(t->log_dir);
    t->attempt = attempt;
    t->log_dir = run_dir_log_dir(t->env.run_dir, attempt);
    return t->log_dir ? 0 : error_no_memory(err);
}

/* If the log cannot be opened, nor can that of the worker, which is reported. */
static int attempt_continue(struct task *t, int attempt, struct error *err)
{
    struct task_worker_spec spec;
    struct error unopened;

    if (attempt_enter(t, attempt, err) < 0)
        return -1;
    spec = worker_spec(t);
    (void)task_errors_redirect(&spec, &unopened);
    return 0;
}

/* The next attempt; false: there is none. */
static bool attempt_await(struct task *t, struct error *err, int *rc)
{
    struct order order;

    do
        order = order_wait(t, err);
    while (order.kind == ORDER_END);
    if (order.kind == ORDER_BEGIN)
        *rc = attempt_continue(t, order.attempt, err);
    return order.kind == ORDER_BEGIN && *rc == 0;
}

static int attempts_run(struct task *t, bool *clean, struct error *err)
{
    int rc = attempt_enter(t, t->env.attempt, err);
    bool another = rc == 0;

    while (another) {
        rc = attempt_run(t, clean, err);
        another = rc == 0 && !*clean && attempt_await(t, err, &rc);
    }
    return rc;
}

static int task_open(struct task *t, struct error *err)
{
    if (signals_take(t, err) < 0 || worker_env_decode(&t->env, err) < 0)
        return -1;
    task_orders_init(&t->orders, STDIN_FILENO);
    if (secret_make(t->mark, err) < 0)
        return -1;
    if (pipe2(t->left, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a pipe: %s",
                         strerror(errno));
    if (task_group_open(t->env.workers, &t->group, err) == 0)
        return 0;
    (void)attempt_enter(t, t->env.attempt, NULL);
    own_failure_record(t, err);
    return -1;
}

int task_run(char *const *argv, struct error *err)
{
    struct task t = {
        .argv = argv, .worker = CHILD_INIT, .signals = -1, .left = {-1, -1}};
    bool clean = false;
    int rc;

    *err = (struct error){0};
    rc = task_open(&t, err);
    if (rc == 0)
        rc = attempts_run(&t, &clean, err);
    child_clear(&t.worker);
    if (rc == 0)
        task_group_close(t.group);
    free(t.log_dir);
    worker_env_clear(&t.env);
    if (rc < 0 && err->code == RAYTRAIN_OK && WIFSIGNALED(t.status))
        end_by_signal(WTERMSIG(t.status));
    if (rc < 0 && err->code == RAYTRAIN_OK)
        return WEXITSTATUS(t.status);
    return rc < 0 ? error_exit_status(err->code) : clean ? WEXITSTATUS(t.status) : 0;
}
