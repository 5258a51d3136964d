/*
 * local_launcher.c - the local launcher: workers are children of this process, wired up
 * by an embedded PMIx server.
 *
 * How workers end: each leads its own process group, so that Ctrl-C reaches it only as
 * a stop request of the launcher, and dies with this process. When it ends, the rest of
 * its process group is killed (util/child.h). When one worker fails, the others are
 * killed at once with SIGKILL, since a worker takes SIGTERM as a request to stop, and
 * would wait for the failed one. In the end, processes that have left the groups are
 * killed, too: they are found by the keeper's mark (util/process_mark.h). When this
 * process is killed, the keeper (keeper.h) does all that and removes the private
 * directory, after waiting for workers that were asked to stop before.
 *
 * A start continues in advance(), step by step: the keeper, the PMIx server, the
 * workers. No step waits, so that requests to stop are noticed.
 *
 * One epoll descriptor covers the pidfds of all workers and the PMIx server, which
 * reports a PMIx_Abort before the worker that called it can end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "launch/launcher.h"
#include "local/blame.h"
#include "local/child_env.h"
#include "local/keeper.h"
#include "local/gpus.h"
#include "local/machine.h"
#include "util/oom.h"
#include "local/pmix_server.h"
#include "protocol/rank_status.h"
#include "protocol/worker_env.h"
#include "run/run_dir.h"
#include "show/tee.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/process_mark.h"
#include "util/rank_choice.h"
#include "util/shm_tidy.h"

extern char **environ;

#define STARTS_MAX 4 /* after this number, something else is wrong */

/* In the data of epoll events; those of workers have the rank. */
#define SERVER_EVENT UINT32_MAX
#define OTHER_EVENT  (UINT32_MAX - 1)

enum stage {
    KEEPER_STARTS, /* until it has made the private directory */
    SERVER_STARTS, /* until all workers' environments are known */
    WORKERS_RUN,
    CALLED_OFF /* killed before the workers ran */
};

struct group {
    enum stage stage;
    int starts;            /* of the keeper and the server */
    struct placement plan; /* what to start: copies of what start() was given */
    char **argv;
    char **shown_argv; /* for the ranks that `show` selects; NULL: none */
    char *show;
    int channel;
    char *log_dir;
    char ***wireup; /* for each worker, the server's additions to its environment */
    int n_wireup;

    int n, running; /* workers, and those not reaped yet */
    struct child *workers;
    struct keeper *keeper;
    struct pmix_server *server;
    int epoll_fd, nudge_fd;
    struct finish_terms finish;
    /* the workers were asked to stop, and some may not have noticed yet */
    bool stopping;
    struct oom_count oom; /* at the start */
    struct blame blame;   /* the outcome so far */
};

static bool local_usable(void)
{
    return true;
}

static int local_resources(const struct scaling_config *scaling, struct resources *out,
                           struct error *err)
{
    (void)scaling;
    return machine_resources(out, err);
}

static int local_command(const struct launch_spec *spec, char ***argv,
                         struct error *err)
{
    *argv = NULL;
    return argv_append_all(argv, spec->argv, err);
}

/* ---- Watch ---- */

static int local_fd(const struct group *g)
{
    return g->epoll_fd;
}

static int group_kill(struct group *g, struct error *err)
{
    int rc = 0;

    g->blame.killed = true;
    for (int i = 0; g->workers && i < g->n; i++)
        if (child_signal_group(&g->workers[i], SIGKILL, rc ? NULL : err) < 0)
            rc = -1;
    return rc;
}

/* Read the messages of the PMIx server. */
static void server_read(struct group *g)
{
    struct pmix_abort_call call;

    switch (pmix_server_next(g->server, &call)) {
    case PMIX_SERVER_QUIET:
        break;
    case PMIX_SERVER_ABORTED:
        blame_abort(&g->blame, call.rank, call.status, call.msg);
        break;
    case PMIX_SERVER_DEAD:
        epoll_ctl(g->epoll_fd, EPOLL_CTL_DEL, pmix_server_fd(g->server), NULL);
        blame_no_worker(&g->blame, 0,
                        "the PMIx server of this run has died, or was stopped for too "
                        "long");
        break;
    }
}

static int worker_collect(struct group *g, int rank, struct error *err)
{
    struct child *worker = &g->workers[rank];
    pid_t pid = worker->pid;
    bool gone;
    int status;

    if (pid <= 0)
        return 0;
    if (child_reap(worker, &gone, &status, err) < 0)
        return -1;
    if (!gone)
        return 0;
    g->running--;
    keeper_forget(g->keeper, pid);
    server_read(g);
    blame_worker(&g->blame, rank, status, pmix_server_is_joined(g->server, rank));
    if (g->blame.outcome.failure.rank == rank &&
        g->blame.outcome.failure.signal == SIGKILL)
        g->blame.outcome.failure.cause =
            oom_count_grown(&g->oom) ? CAUSE_OOM : CAUSE_WORKER;
    return 0;
}

/* Kill what still runs, after collecting the workers that have ended by themselves. */
static int group_end(struct group *g, struct error *err)
{
    int rc = 0;

    for (int rank = 0; rank < g->n; rank++)
        if (worker_collect(g, rank, rc ? NULL : err) < 0)
            rc = -1;
    if (group_kill(g, rc ? NULL : err) < 0)
        rc = -1;
    return rc;
}

static bool all_have_heard(const struct group *g)
{
    struct rank_status *at = rank_status_read(g->log_dir, RANK_STATUS_STOP, g->n);
    bool all = at != NULL;

    for (int i = 0; all && i < g->n; i++)
        all = g->workers[i].pid <= 0 || at[i].calls >= 0;
    free(at);
    return all;
}

/* After all workers have received the request to stop, they no longer die with this
 * process (rank/stop.h). They need the PMIx server until they end. */
static void finish_allow(struct group *g)
{
    if (!g->stopping || g->blame.killed || !all_have_heard(g))
        return;
    g->stopping = false;
    pmix_server_outlive(g->server);
    keeper_order(g->keeper, &g->finish);
}

static int workers_advance(struct group *g, bool *done, struct error *err)
{
    struct epoll_event events[64];
    int n, rc = 0;

    do {
        n = epoll_wait(g->epoll_fd, events, sizeof events / sizeof *events, 0);
        server_read(g);
        for (int i = 0; i < n; i++)
            if (events[i].data.u32 < OTHER_EVENT &&
                worker_collect(g, (int)events[i].data.u32, rc ? NULL : err) < 0)
                rc = -1;
        if (g->blame.must_end && !g->blame.killed && group_end(g, rc ? NULL : err) < 0)
            rc = -1;
    } while (rc == 0 && n > 0 && g->running > 0);
    finish_allow(g);
    *done = g->running == 0;
    return rc;
}

/* ---- Start ---- */

static int group_watch(struct group *g, int fd, uint32_t id, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = id};

    if (epoll_ctl(g->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot watch a worker: %s",
                         strerror(errno));
    return 0;
}

static int shown_take(struct group *g, const struct launch_spec *spec,
                      struct error *err)
{
    g->channel = fcntl(spec->channel, F_DUPFD_CLOEXEC, 0);
    g->show = strdup(spec->show);
    if (g->channel < 0 || !g->show)
        return error_no_memory(err);
    return tee_command(g->show, g->n, g->plan.nodes[0].name, spec->log_dir, g->argv,
                       &g->shown_argv, err);
}

/* Copy all that is needed until the workers run. */
static int group_take(struct group *g, const struct launch_spec *spec,
                      struct error *err)
{
    if (placement_copy(spec->plan, &g->plan, err) < 0 ||
        argv_append_all(&g->argv, spec->argv, err) < 0)
        return -1;
    if (spec->show && shown_take(g, spec, err) < 0)
        return -1;
    g->log_dir = strdup(spec->log_dir);
    g->workers = calloc((size_t)g->n, sizeof *g->workers);
    g->wireup = calloc((size_t)g->n, sizeof *g->wireup);
    if (!g->log_dir || !g->workers || !g->wireup)
        return error_no_memory(err);
    for (int i = 0; i < g->n; i++)
        g->workers[i] = (struct child)CHILD_INIT;
    return 0;
}

static int group_create(const struct launch_spec *spec, struct group **out,
                        struct error *err)
{
    struct group *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return error_no_memory(err);
    g->n = spec->plan->workers;
    g->finish = spec->finish;
    g->nudge_fd = g->channel = -1;
    blame_init(&g->blame);
    oom_count_init(&g->oom, "");
    g->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    rc = g->epoll_fd < 0
             ? error_set(err, RAYTRAIN_EFAILED, "cannot make an event descriptor: %s",
                         strerror(errno))
             : group_take(g, spec, err);
    if (rc < 0)
        launcher_local.destroy(g);
    else
        *out = g;
    return rc;
}

static int log_open(const char *dir, const char *stem, const char *ending,
                    struct error *err)
{
    char path[PATH_MAX];
    int fd;

    if ((size_t)snprintf(path, sizeof path, "%s/%s.%s", dir, stem, ending) >=
        sizeof path)
        return error_set(err, RAYTRAIN_ESTORAGE, "the path of a log is too long: %s",
                         dir);
    fd = open(path, FS_WRITE | O_CREAT | O_APPEND, 0666);
    return fd < 0 ? fs_error(err, "open", path) : fd;
}

/* The log files of a rank: its own, or, with many workers, the node's. A worker whose
 * output is shown opens the log of its standard output itself. */
static int out_open(const struct group *g, bool shown, const char *stem,
                    struct error *err)
{
    int fd;

    if (!shown)
        return log_open(g->log_dir, stem, "out", err);
    fd = fcntl(g->channel, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? error_set(err, RAYTRAIN_EFAILED, "cannot copy a descriptor: %s",
                              strerror(errno))
                  : fd;
}

static int logs_open(const struct group *g, int rank, struct child_spec *child,
                     struct error *err)
{
    char stem[RUN_DIR_LOG_NAME_MAX];

    run_dir_log_name((int)g->n, rank, g->plan.nodes[0].name, stem);
    child->out = out_open(g, child->argv == g->shown_argv, stem, err);
    if (child->out < 0)
        return -1;
    child->err = log_open(g->log_dir, stem, "err", err);
    if (child->err >= 0)
        return 0;
    close(child->out);
    return -1;
}

/* The CPUs near the GPUs of this rank; NULL: any. */
static const cpu_set_t *near_choose(const struct group *g, int rank,
                                    const struct gpus *gpus, cpu_set_t *near)
{
    size_t first = local_first_gpu(&g->plan, rank);

    return gpus->n > 0 && gpus_near_cpus("", gpus, first,
                                         (size_t)g->plan.gpus_per_worker, near)
               ? near
               : NULL;
}

static int worker_start(struct group *g, int rank, char *const *env,
                        const cpu_set_t *cpus, struct error *err)
{
    bool shown = g->shown_argv && rank_choice_has(g->show, rank);
    struct child_spec child = {.argv = shown ? g->shown_argv : g->argv,
                               .env = env,
                               .cpus = cpus,
                               .in = -1,
                               .own_group = true,
                               .die_with_parent = true,
                               .announce = keeper_socket(g->keeper)};
    int rc;

    if (logs_open(g, rank, &child, err) < 0)
        return -1;
    rc = child_spawn(&child, &g->workers[rank], err);
    close(child.out);
    close(child.err);
    if (rc < 0)
        return -1;
    g->running++;
    fault_point("local.worker", rank);
    return group_watch(g, g->workers[rank].pidfd, (uint32_t)rank, err);
}

static int workers_start(struct group *g, struct error *err)
{
    struct gpus gpus = {0};
    int rc = 0;

    if (g->plan.gpus_per_worker > 0)
        rc = gpus_find("", getenv, &gpus, err);
    for (int rank = 0; rc == 0 && rank < g->n; rank++) {
        char **env = NULL;
        cpu_set_t near;

        rc = local_env_make(environ, &g->plan, rank, &gpus, &env, err);
        if (rc == 0)
            rc = argv_append_all(&env, g->wireup[rank], err);
        if (rc == 0)
            rc = argv_append(&env, keeper_mark(g->keeper), err);
        if (rc == 0)
            rc = worker_start(g, rank, env, near_choose(g, rank, &gpus, &near), err);
        argv_free(env);
    }
    gpus_clear(&gpus);
    return rc;
}

static int server_start(struct group *g, struct error *err)
{
    epoll_ctl(g->epoll_fd, EPOLL_CTL_DEL, keeper_socket(g->keeper), NULL);
    fault_point("local.keeper", 0);
    if (pmix_server_start(g->n, keeper_dir(g->keeper), keeper_mark(g->keeper),
                          &g->server, err) < 0)
        return -1;
    fault_point("local.server", 0);
    g->stage = SERVER_STARTS;
    return group_watch(g, pmix_server_fd(g->server), SERVER_EVENT, err);
}

static int keeper_begin(struct group *g, struct error *err)
{
    g->starts++;
    g->stage = KEEPER_STARTS;
    shm_tidy(); /* of runs whose launcher was killed */
    if (keeper_start(&g->keeper, err) < 0)
        return -1;
    return group_watch(g, keeper_socket(g->keeper), OTHER_EVENT, err);
}

/* Stop the helpers that were started. */
static void helpers_stop(struct group *g)
{
    pmix_server_stop(g->server);
    keeper_stop(g->keeper);
    g->server = NULL;
    g->keeper = NULL;
    while (g->n_wireup > 0)
        argv_free(g->wireup[--g->n_wireup]);
}

static void channel_close(struct group *g)
{
    if (g->channel >= 0)
        close(g->channel);
    g->channel = -1;
}

/* Continue the start as far as possible without waiting. */
static int start_go_on(struct group *g, struct error *err)
{
    int got;

    if (g->stage == KEEPER_STARTS) {
        if ((got = keeper_ready(g->keeper, err)) <= 0)
            return got;
        if (server_start(g, err) < 0)
            return -1;
    }
    for (; g->n_wireup < g->n; g->n_wireup++) {
        g->wireup[g->n_wireup] = NULL;
        got = pmix_server_worker_env(g->server, g->n_wireup, &g->wireup[g->n_wireup],
                                     err);
        if (got < 0)
            argv_free(g->wireup[g->n_wireup]);
        if (got <= 0)
            return got;
    }
    g->stage = WORKERS_RUN;
    got = workers_start(g, err);
    channel_close(g); /* it ends when the workers do */
    return got;
}

/* If the keeper or the PMIx server dies before the workers run, start again. */
static int start_advance(struct group *g, struct error *err)
{
    struct error why;

    if (start_go_on(g, &why) == 0)
        return 0;
    if (why.code != RAYTRAIN_ECOMM || g->starts == STARTS_MAX)
        return error_set(err, why.code, "%s", why.text);
    helpers_stop(g);
    return keeper_begin(g, err);
}

static int local_start(const struct launch_spec *spec, struct group **out,
                       struct error *err)
{
    if (group_create(spec, out, err) < 0)
        return -1;
    if (keeper_begin(*out, err) == 0)
        return 0;
    launcher_local.destroy(*out);
    return -1;
}

static int local_advance(struct group *g, bool *done, struct launch_outcome *outcome,
                         struct error *err)
{
    int rc = 0;

    *done = g->stage == CALLED_OFF;
    if (g->stage == WORKERS_RUN)
        rc = workers_advance(g, done, err);
    else if (g->stage != CALLED_OFF)
        rc = start_advance(g, err);
    *outcome = g->blame.outcome;
    return rc;
}

/* ---- End ---- */

static int local_signal(struct group *g, int sig, struct error *err)
{
    int rc = 0;

    for (int i = 0; i < g->n; i++)
        if (child_signal(&g->workers[i], sig, rc ? NULL : err) < 0)
            rc = -1;
    if (sig == WORKER_STOP_SIGNAL && rc == 0)
        g->stopping = g->finish.seconds > 0;
    return rc;
}

/* Make fd() readable, since no worker will end, but advance() has work to do. */
static int nudge(struct group *g, struct error *err)
{
    g->nudge_fd = eventfd(1, EFD_CLOEXEC);
    return group_watch(g, g->nudge_fd, OTHER_EVENT, err);
}

static int local_kill(struct group *g, struct error *err)
{
    bool running = g->stage == WORKERS_RUN;

    if (g->blame.killed || (running && g->running == 0))
        return 0;
    blame_no_worker(&g->blame, SIGKILL, "killed on request");
    if (running)
        return group_kill(g, err);
    g->blame.killed = true;
    g->stage = CALLED_OFF;
    channel_close(g);
    return nudge(g, err);
}

static void local_destroy(struct group *g)
{
    int saved = errno;

    if (!g)
        return;
    group_kill(g, NULL);
    for (int i = 0; g->workers && i < g->n; i++) {
        pid_t pid = g->workers[i].pid;

        child_clear(&g->workers[i]);
        if (pid > 0)
            keeper_forget(g->keeper, pid);
    }
    if (g->stage == WORKERS_RUN)
        process_mark_kill(keeper_mark(g->keeper));
    shm_tidy();
    helpers_stop(g);
    if (g->epoll_fd >= 0)
        close(g->epoll_fd);
    if (g->nudge_fd >= 0)
        close(g->nudge_fd);
    placement_clear(&g->plan);
    channel_close(g);
    argv_free(g->argv);
    argv_free(g->shown_argv);
    free(g->show);
    free(g->log_dir);
    free(g->wireup);
    free(g->workers);
    free(g);
    errno = saved;
}

const struct launcher_ops launcher_local = {
    .usable = local_usable,
    .resources = local_resources,
    .command = local_command,
    .start = local_start,
    .fd = local_fd,
    .advance = local_advance,
    .signal = local_signal,
    .kill = local_kill,
    .destroy = local_destroy,
};
