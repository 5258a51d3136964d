/*
 * slurm_launcher.c - the Slurm launcher: workers are the tasks of one srun step of the
 * allocation that this process is in.
 *
 * srun is the child of a keeper (step_keeper.h), in a new session. Its standard error
 * reports the state of its tasks (srun_messages.h). As soon as one has failed, the step
 * is killed with `scancel --signal=KILL`: Slurm itself would send the others SIGTERM,
 * which a worker takes as a request to stop, and wait for KillWait. If the step still
 * runs after some seconds, srun is killed, and Slurm then kills the tasks. The same
 * happens if this process is killed, unless the workers have been asked to stop: then
 * they may finish.
 *
 * If a node is lost, the step does not end until Slurm notices. So srun may report the
 * tasks that end on the other nodes for a few seconds, and is then killed, which ends
 * the group. The step stays listed and keeps its CPUs: later groups must share them
 * with it (--overlap).
 *
 * A group that is kept (launch_spec.keep) is a step of raytrain-task, which starts the
 * workers of one attempt after the other. The tasks report a worker that has failed by
 * an event, kill the others by order ("end 4"), report the end of all, again by an
 * event, and then wait for the next order ("begin 5" or "leave"). If anything else
 * happens, the step is killed as above.
 *
 * One epoll descriptor covers srun's messages, srun, scancel and the timer.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launcher.h"
#include "protocol/events.h"
#include "protocol/worker_env.h"
#include "protocol/worker_record.h"
#include "slurm/job.h"
#include "slurm/mpi_plugins.h"
#include "slurm/resources.h"
#include "slurm/salloc.h"
#include "slurm/sbatch.h"
#include "slurm/site_check.h"
#include "slurm/slurm_tool.h"
#include "slurm/slurmd_probe.h"
#include "slurm/srun_messages.h"
#include "slurm/step_command.h"
#include "slurm/step_keeper.h"
#include "slurm/surroundings.h"
#include "util/argv.h"
#include "event/attention.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/hostlist.h"

extern char **environ;

#define LINE_MAX_BYTES (1 << 20) /* the longest message; longer ones are cut */
/* A task that dies while it connects to the PMIx server of its node can make that
 * server hang, and with it the step and in the end the node (OpenPMIx 4.2). So a step
 * is not killed until this long after its last task was started. */
#define SETTLE_S         1.0
#define KILL_INTERVAL_NS 150000000 /* between attempts to kill a step */
/* before an srun with an unknown step gets SIGTERM */
#define TERM_ATTEMPTS  15
#define KILL_ATTEMPTS  40  /* before srun is killed */
#define ABANDON_WAIT_S 3   /* for workers on live nodes, when others are lost */
#define DESTROY_WAIT_S 15  /* in destroy(), for the end of the step */
#define HURRIED_WAIT_S 1.0 /* the same after a request to stop */
#define END_WAIT_S     15  /* for the tasks of a kept step to kill their workers */
#define LEAVE_WAIT_S   5   /* for the end of a kept step without workers */
#define STEP_ATTEMPTS  100 /* in one step: PMIx keeps what each has published */

/* Of a group that is kept. */
enum step_phase {
    STEP_RUNS,   /* workers run; also the phase of all other groups */
    STEP_ENDS,   /* the tasks were ordered to kill them */
    STEP_IDLE,   /* no worker is left, and the tasks wait */
    STEP_LEAVES, /* the tasks were ordered to exit */
};

struct group {
    struct placement plan; /* a copy */
    char *log_dir;
    struct step_keeper srun; /* srun's keeper, which ends like srun */
    struct child scancel;
    struct finish_terms finish;
    int message_fd, timer_fd, epoll_fd;
    char *line; /* the part of srun's current message that was read */
    size_t line_used, line_size;
    struct step_watch watch;
    int wait_status;           /* srun's */
    bool gone;                 /* srun has been reaped */
    bool finished;             /* the outcome is final */
    double started_at;         /* when srun last reported that tasks have started */
    bool ending;               /* the timer for attempts to kill the step runs */
    int kill_attempts;         /* > 0: the step must end now */
    bool cancelled_after_srun; /* a scancel has been started after its end */
    bool abandoned;            /* nodes are lost: do not wait for the end of the step */
    int left;                  /* tasks that are not on lost nodes */
    double abandoned_until;    /* when to stop waiting for those, too */
    int pending_signal;        /* sent after all tasks have started; 0: none */
    bool stop_sent;            /* a request to stop, by srun or scancel */
    bool stop_asked;           /* slurm_signal() was called for one */
    bool keep;                 /* of launch_spec */
    enum step_phase phase;
    int attempt;       /* its number */
    int attempts;      /* that have run in this step */
    double ends_until; /* of STEP_ENDS */
};

static bool slurm_usable(void)
{
    const char *id = getenv("SLURM_JOB_ID"), *nodes = getenv("SLURM_JOB_NODELIST");

    return id && *id && nodes && *nodes;
}

/* ---- Kill the step ---- */

static int watch_fd(int epoll_fd, int fd, struct error *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot watch srun: %s",
                         strerror(errno));
    return 0;
}

/* Is it a step of this job? scancel gets the id, and other users may write in the
 * directory. */
static bool is_of_job(const char *step)
{
    const char *job = getenv("SLURM_JOB_ID");
    size_t n = job ? strlen(job) : 0;

    return n > 0 && strncmp(step, job, n) == 0 && step[n] == '.';
}

/* Has a worker recorded the id of the step? */
static bool step_is_recorded(struct group *g)
{
    char step[WORKER_STEP_MAX];

    if (!worker_record_read_step(g->log_dir, step) || !is_of_job(step))
        return false;
    if (!g->watch.step[0]) {
        snprintf(g->watch.step, sizeof g->watch.step, "%s", step);
        g->started_at = clock_now();
    }
    return true;
}

/* Is the id of the step known, from srun or from the workers? */
static bool step_is_known(struct group *g)
{
    return g->watch.step[0] || step_is_recorded(g);
}

/* Send the step a signal by scancel, unless one is running. */
static int step_signal(struct group *g, int sig, struct error *err)
{
    char option[32];
    char *argv[] = {(char *)"scancel", (char *)"--quiet", option, g->watch.step, NULL};
    struct child_spec spec = {
        .argv = argv, .in = -1, .out = -1, .err = -1, .die_with_parent = true};
    char **env = NULL;
    int rc;

    if (g->scancel.pid > 0)
        return 0;
    if (slurm_tool_env(&env, err) < 0)
        return -1;
    snprintf(option, sizeof option, "--signal=%d", sig);
    spec.env = env;
    rc = child_spawn(&spec, &g->scancel, err);
    argv_free(env);
    if (rc < 0)
        return -1;
    return watch_fd(g->epoll_fd, g->scancel.pidfd, err);
}

static int step_cancel(struct group *g, struct error *err)
{
    if (g->scancel.pid > 0)
        return 0;
    g->watch.killing = true;
    g->cancelled_after_srun = g->gone;
    return step_signal(g, SIGKILL, err);
}

/*
 * One attempt to kill the step; the timer makes the next one. An srun that waits for
 * its step gives up on SIGTERM. A step that is starting is killed once it has started
 * (see SETTLE_S). As a last resort srun is killed; its helper process then kills the
 * tasks.
 */
static int kill_attempt(struct group *g, struct error *err)
{
    if (++g->kill_attempts > KILL_ATTEMPTS)
        return step_keeper_signal(&g->srun, SIGKILL, err);
    if (!step_is_known(g))
        return g->watch.waiting || g->kill_attempts > TERM_ATTEMPTS
                   ? step_keeper_signal(&g->srun, SIGTERM, err)
                   : 0;
    return clock_now() < g->started_at + SETTLE_S ? 0 : step_cancel(g, err);
}

static int kill_timer_start(struct group *g, struct error *err)
{
    struct itimerspec every = {.it_value.tv_nsec = KILL_INTERVAL_NS,
                               .it_interval.tv_nsec = KILL_INTERVAL_NS};

    g->ending = true;
    step_keeper_order(&g->srun, &g->finish, 0);
    if (timerfd_settime(g->timer_fd, 0, &every, NULL) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot set a timer: %s",
                         strerror(errno));
    return 0;
}

/* A kill on request is immediate. */
static int step_kill(struct group *g, struct error *err)
{
    if (g->gone || g->kill_attempts > 0)
        return 0;
    return kill_timer_start(g, err) < 0 ? -1 : kill_attempt(g, err);
}

/* After a task has failed, kill from the first tick of the timer on, so that srun can
 * report which others had died by then. */
static int step_end(struct group *g, struct error *err)
{
    return g->gone || g->ending ? 0 : kill_timer_start(g, err);
}

static void timer_check(struct group *g)
{
    uint64_t times;

    if (read(g->timer_fd, &times, sizeof times) == sizeof times && !g->gone &&
        g->ending)
        kill_attempt(g, NULL);
}

/* ---- Attempts in one step ---- */

static int order_send(struct group *g, const char *what, struct error *err)
{
    char line[STEP_LINE_MAX];

    snprintf(line, sizeof line, "%s %d\n", what, g->attempt);
    return step_keeper_say(&g->srun, line, err);
}

/* Are all tasks of the step alive, as far as is known? After the kernel has killed a
 * process for lack of memory, Slurm reports all tasks of the step, whatever their
 * statuses, as "Out Of Memory": such a step is not used again. */
static bool tasks_live(const struct group *g)
{
    return g->keep && !g->gone && !g->watch.oom && !g->ending && !g->abandoned &&
           g->watch.ended == 0 && !g->watch.refused && !g->watch.cancelled &&
           !g->watch.outcome.lost[0];
}

/* Order the tasks to kill the workers, and set a limit. */
static int workers_end(struct group *g, struct error *err)
{
    struct itimerspec once = {.it_value.tv_sec = END_WAIT_S};

    if (order_send(g, "end", err) < 0 ||
        timerfd_settime(g->timer_fd, 0, &once, NULL) < 0)
        return -1;
    g->phase = STEP_ENDS;
    g->ends_until = clock_now() + END_WAIT_S;
    return 0;
}

/* After a worker has failed. Workers that have been asked to stop are the last ones of
 * the run: their step ends, too. */
static int attempt_end(struct group *g, struct error *err)
{
    if (g->phase == STEP_IDLE || g->phase == STEP_LEAVES)
        return 0;
    if (tasks_live(g) && g->phase == STEP_ENDS && clock_now() < g->ends_until)
        return 0;
    if (tasks_live(g) && g->phase == STEP_RUNS && !g->stop_asked &&
        workers_end(g, NULL) == 0)
        return 0;
    g->phase = STEP_RUNS;
    return step_end(g, err);
}

static void worker_failed(struct group *g, const json_t *event)
{
    const char *host = json_string_value(json_object_get(event, "host"));
    const json_t *rank = json_object_get(event, "rank");
    const struct worker_report report = {
        .rank = json_is_integer(rank) ? (int)json_integer_value(rank) : -1,
        .exit_status = (int)json_integer_value(json_object_get(event, "exit_status")),
        .signal = (int)json_integer_value(json_object_get(event, "signal")),
        .oom = json_is_true(json_object_get(event, "oom")),
        .host = host ? host : ""};

    step_watch_worker(&g->watch, &report);
}

static void slurm_hear(struct group *g, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));

    if (!g->keep || !kind || g->phase == STEP_IDLE)
        return;
    if (strcmp(kind, EVENT_TASK_FAILED) == 0)
        worker_failed(g, event);
    else if (strcmp(kind, EVENT_ATTEMPT_OVER) == 0 && g->phase == STEP_ENDS &&
             tasks_live(g))
        g->phase = STEP_IDLE;
}

static const char *slurm_keep_obstacle(const char *srun_args)
{
    return slurm_step_takes_input(srun_args)
               ? "--input or --pty of --srun-args takes the standard input of the "
                 "step, which carries the orders to restart"
               : NULL;
}

/* ---- Messages of srun ---- */

static void line_append(struct group *g, char c)
{
    if (g->line_used == g->line_size) {
        size_t size = g->line_size > 0 ? 2 * g->line_size : 4096;
        char *longer = size <= LINE_MAX_BYTES ? realloc(g->line, size) : NULL;

        if (!longer)
            return;
        g->line = longer;
        g->line_size = size;
    }
    g->line[g->line_used++] = c;
}

static void line_end(struct group *g)
{
    int started = g->watch.started;

    if (g->line_used == g->line_size && g->line_size > 0)
        g->line_used--;
    line_append(g, '\0');
    if (g->line_used == 0)
        return;
    g->line_used = 0;
    step_watch_line(&g->watch, g->line);
    if (g->watch.started != started || g->started_at == 0)
        g->started_at = clock_now();
    if (g->watch.started != started)
        fault_point("slurm.tasks", 0);
}

static void text_take(struct group *g, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n')
            line_end(g);
        else
            line_append(g, text[i]);
}

/* Read all that is available now. */
static void messages_read(struct group *g)
{
    char text[4096];
    ssize_t n;

    if (g->message_fd < 0)
        return;
    while ((n = read(g->message_fd, text, sizeof text)) != 0) {
        if (n > 0)
            text_take(g, text, (size_t)n);
        else if (errno != EINTR)
            break;
    }
    if (n == 0) { /* srun is about to exit, which its pidfd will show */
        close(g->message_fd);
        g->message_fd = -1;
    }
}

/* srun forwards a signal to the tasks that it knows to be running. If no known message
 * shows that all tasks run, but the workers' record does, scancel sends the signal. */
static void send_pending_signal(struct group *g)
{
    bool started = g->watch.started >= g->plan.workers;

    if (g->pending_signal == 0 ||
        (!started && (g->scancel.pid > 0 || !step_is_recorded(g))))
        return;
    if (started)
        step_keeper_signal(&g->srun, g->pending_signal, NULL);
    else
        step_signal(g, g->pending_signal, NULL);
    g->stop_sent = true;
    g->pending_signal = 0;
}

/* If scancel sends the signal, wait until it has ended, since it dies with this
 * process. */
static void finish_allow(struct group *g)
{
    if (!g->stop_sent || g->scancel.pid > 0 || g->ending)
        return;
    g->stop_sent = false;
    if (g->finish.seconds > 0)
        slurm_salloc_let_finish();
    step_keeper_order(&g->srun, &g->finish, g->finish.seconds);
}

static int reap(struct group *g, struct error *err)
{
    bool gone = false;
    int status;

    if (g->scancel.pid > 0 && child_reap(&g->scancel, &gone, &status, err) < 0)
        return -1;
    if (g->srun.process.pid > 0 &&
        child_reap(&g->srun.process, &g->gone, &g->wait_status, err) < 0)
        return -1;
    return 0;
}

/* Put a sentence before srun's message. */
static void detail_explain(struct launch_outcome *o, const char *sentence)
{
    char said[sizeof o->failure.message];

    memcpy(said, o->failure.message, sizeof said);
    snprintf(o->failure.message, sizeof o->failure.message, "%.600s\n%.400s", sentence,
             said);
}

/* Adds the likely causes of some of srun's messages, and remedies. */
static void outcome_explain(const struct group *g, struct launch_outcome *o)
{
    const char *job = slurm_job_name(),
               *host = o->failure.host[0] ? o->failure.host : "(unknown)";
    char text[1024];

    if (!job)
        job = "";
    if (strstr(o->failure.message, "could not connect IO")) {
        snprintf(text, sizeof text,
                 "node %s cannot write the log files in %.400s: is this directory on "
                 "storage that all nodes see?",
                 host, g->log_dir);
        o->failure.code = RAYTRAIN_ESTORAGE;
    } else if (strstr(o->failure.message, "Requested nodes are busy")) {
        o->busy = true;
        snprintf(text, sizeof text,
                 "another step holds CPUs, GPUs or memory of allocation %.40s: see "
                 "squeue --steps --jobs=%.40s.\n"
                 "Wait for it, or share with it: --srun-args=--overlap",
                 job, job);
    } else if (strstr(o->failure.message, "nvalid MPI type")) {
        snprintf(
            text, sizeof text,
            "Slurm does not have the requested --mpi plugin here: choose one for PMIx "
            "from srun --mpi=list: --srun-args=--mpi=NAME");
    } else if ((strstr(o->failure.message, "failed on node") &&
                strstr(o->failure.message, "Unspecified error")) ||
               strstr(o->failure.message, "launch failed: Invalid MPI plugin name")) {
        snprintf(
            text, sizeof text,
            "slurmd on node %s could not set the step up: often its plugin "
            "mpi/pmix cannot load libpmix there, or finds another version of it.\n"
            "The log of slurmd on %s says why; to reproduce it: srun --mpi=pmix -w %s "
            "true",
            host, host, host);
    } else {
        return;
    }
    detail_explain(o, text);
}

/* The number of tasks on nodes that srun has not reported as lost. */
static int tasks_left(const struct group *g)
{
    char **lost = NULL;
    int left = 0;

    hostlist_expand(g->watch.outcome.lost, &lost, NULL);
    for (size_t i = 0; i < g->plan.n_nodes; i++)
        if (!argv_has(lost, g->plan.nodes[i].name))
            left += g->plan.nodes[i].tasks;
    argv_free(lost);
    return left;
}

/* Kill srun after all tasks on the remaining nodes have ended. */
static void abandoned_check(struct group *g)
{
    if (g->abandoned && !g->gone &&
        (g->watch.ended >= g->left || clock_now() > g->abandoned_until))
        step_keeper_signal(&g->srun, SIGKILL, NULL);
}

static void group_finish(struct group *g)
{
    if (g->finished)
        return;
    g->finished = true;
    if (g->line_used > 0)
        line_end(g);
    step_is_known(g);
    step_watch_finish(&g->watch, g->wait_status, &g->plan);
    outcome_explain(g, &g->watch.outcome);
}

/* The end of an attempt whose step stays. */
static void attempt_finish(struct group *g)
{
    step_watch_finish(&g->watch, 0, &g->plan);
    g->watch.outcome.stays = true;
}

static int slurm_abandon(struct group *g, int left, struct error *err)
{
    g->abandoned = true;
    g->left = left;
    g->abandoned_until = clock_now() + ABANDON_WAIT_S;
    return step_kill(g, err);
}

static int slurm_advance(struct group *g, bool *done, struct launch_outcome *outcome,
                         struct error *err)
{
    bool was_gone = g->gone;

    messages_read(g);
    timer_check(g);
    if (reap(g, err) < 0)
        return -1;
    if (g->gone && !was_gone)
        messages_read(g); /* its last messages */
    send_pending_signal(g);
    finish_allow(g);
    if (g->watch.outcome.failed || g->watch.refused)
        attempt_end(g, err);
    if (g->watch.outcome.lost[0] && !g->abandoned)
        slurm_abandon(g, tasks_left(g), err);
    else if (g->watch.outcome.lost[0] && tasks_left(g) < g->left)
        g->left = tasks_left(g); /* another node was lost */
    abandoned_check(g);
    /* A step may outlive an srun that was killed. */
    if (g->gone && WIFSIGNALED(g->wait_status) && !g->cancelled_after_srun &&
        !g->abandoned && step_is_known(g))
        step_cancel(g, err);
    /* scancel would wait for lost nodes: do not wait for scancel then. */
    *done = g->phase == STEP_IDLE || (g->gone && (g->scancel.pid == 0 || g->abandoned));
    if (g->phase == STEP_IDLE)
        attempt_finish(g);
    else if (*done)
        group_finish(g);
    *outcome = g->watch.outcome;
    return 0;
}

static int slurm_fd(const struct group *g)
{
    return g->epoll_fd;
}

/* ---- Signals and the end ---- */

/* srun forwards a stop request to its tasks, but ends if it does not know yet that they
 * run, which the workers may report earlier; so an early request is kept. Other signals
 * may end srun at any time: scancel sends them to the running tasks. */
static int slurm_signal(struct group *g, int sig, struct error *err)
{
    if (g->gone)
        return 0;
    if (sig != WORKER_STOP_SIGNAL)
        return g->watch.started > 0 || step_is_recorded(g) ? step_signal(g, sig, err)
                                                           : 0;
    g->stop_asked = true;
    g->pending_signal = sig;
    send_pending_signal(g);
    finish_allow(g);
    return 0;
}

static int slurm_kill(struct group *g, struct error *err)
{
    g->watch.cancelled =
        true; /* from now on the signals that kill tasks show no cause */
    return step_kill(g, err);
}

static void wait_gone(struct group *g, double seconds)
{
    double until = clock_now() + seconds, left;
    struct launch_outcome outcome;
    bool done = false, hurried = false;

    while (!done && (left = until - clock_now()) > 0) {
        struct pollfd p = {.fd = g->epoll_fd, .events = POLLIN};

        if (hurried)
            poll(&p, 1, (int)(left * 1e3) + 1);
        else
            attention_wait(g->epoll_fd, (int)(left * 1e3) + 1);
        if (!hurried && attention_is_called()) {
            hurried = true;
            until = fmin(until, clock_now() + HURRIED_WAIT_S);
        }
        if (slurm_advance(g, &done, &outcome, NULL) < 0)
            break;
    }
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* The tasks of a step without workers exit when they are asked to. */
static void step_leave(struct group *g)
{
    g->phase = STEP_LEAVES;
    if (step_keeper_say(&g->srun, "leave\n", NULL) == 0)
        wait_gone(g, LEAVE_WAIT_S);
    g->phase = STEP_RUNS;
}

static void slurm_destroy(struct group *g)
{
    int saved = errno;

    if (!g)
        return;
    if (g->srun.process.pid > 0 && g->phase == STEP_IDLE)
        step_leave(g);
    if (g->srun.process.pid > 0) {
        slurm_kill(g, NULL);
        wait_gone(g, DESTROY_WAIT_S);
    }
    step_keeper_clear(&g->srun);
    child_clear(&g->scancel);
    close_fd(g->message_fd);
    close_fd(g->timer_fd);
    close_fd(g->epoll_fd);
    placement_clear(&g->plan);
    free(g->log_dir);
    free(g->line);
    free(g);
    errno = saved;
}

/* ---- Start ---- */

static int group_create(const struct launch_spec *spec, struct group **out,
                        struct error *err)
{
    struct group *g = calloc(1, sizeof *g);

    if (!g)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a step");
    g->srun = (struct step_keeper)STEP_KEEPER_INIT;
    g->scancel = (struct child)CHILD_INIT;
    g->finish = spec->finish;
    g->keep = spec->keep;
    g->attempt = spec->attempt;
    g->attempts = 1;
    g->message_fd = -1;
    step_watch_init(&g->watch, spec->plan->workers);
    g->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    g->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (g->timer_fd < 0 || g->epoll_fd < 0) {
        error_set(err, RAYTRAIN_ENOMEM, "cannot watch srun: %s", strerror(errno));
    } else if (!(g->log_dir = strdup(spec->log_dir))) {
        error_set(err, RAYTRAIN_ENOMEM, "out of memory for a step");
    } else if (placement_copy(spec->plan, &g->plan, err) == 0) {
        *out = g;
        return 0;
    }
    slurm_destroy(g);
    return -1;
}

static int group_srun_start(struct group *g, const struct launch_spec *spec,
                            char *const *argv, char *const *env, struct error *err)
{
    const struct step_output output = {spec->show ? spec->channel : -1,
                                       spec->show ? spec->reader : -1};

    if (step_keeper_start(&g->srun, argv, env, output, g->keep, &g->message_fd, err) <
        0)
        return error_prefix(err, "cannot start the workers");
    if (watch_fd(g->epoll_fd, g->message_fd, err) < 0 ||
        watch_fd(g->epoll_fd, g->timer_fd, err) < 0)
        return -1;
    return watch_fd(g->epoll_fd, g->srun.process.pidfd, err);
}

static int hosts_fill(const char *path, const char *hosts, struct error *err)
{
    int fd = open(path, FS_WRITE | O_CREAT | O_TRUNC, 0666), rc = 0;

    if (fd < 0)
        return fs_error(err, "create", path);
    if (fs_write_full(fd, hosts, strlen(hosts)) < 0)
        rc = fs_error(err, "write", path);
    if (close(fd) < 0 && rc == 0)
        rc = fs_error(err, "write", path);
    return rc;
}

/* The list of nodes, if the command names a file for it. */
static int hosts_write(const struct launch_spec *spec, struct error *err)
{
    char *hosts, *path = NULL;
    int rc = slurm_step_hosts(spec->plan, &hosts, err);

    if (rc < 0 || !hosts)
        return rc;
    if (asprintf(&path, "%s/" SLURM_STEP_HOSTS, spec->log_dir) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for a node list");
    else
        rc = hosts_fill(path, hosts, err);
    free(path);
    free(hosts);
    return rc;
}

static int slurm_start(const struct launch_spec *spec, struct group **out,
                       struct error *err)
{
    char **argv = NULL, **env = NULL;
    struct group *g = NULL;
    int rc = -1;

    if (slurm_step_argv(spec, &argv, err) == 0 && hosts_write(spec, err) == 0 &&
        slurm_step_env(environ, spec->plan->cpus_per_worker, &env, err) == 0 &&
        group_create(spec, &g, err) == 0)
        rc = group_srun_start(g, spec, argv, env, err);
    fault_point("slurm.srun", 0);
    argv_free(argv);
    argv_free(env);
    if (rc < 0)
        slurm_destroy(g);
    else
        *out = g;
    return rc;
}

/* What happened to the step since the end of the last attempt is seen here. */
static int slurm_again(struct group *g, const struct launch_spec *spec,
                       struct error *err)
{
    char *log_dir;

    messages_read(g);
    if (reap(g, err) < 0)
        return -1;
    if (g->phase != STEP_IDLE || !tasks_live(g) || g->attempts >= STEP_ATTEMPTS)
        return error_set(err, RAYTRAIN_ECOMM, "the step has ended");
    if (!(log_dir = strdup(spec->log_dir)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a step");
    free(g->log_dir);
    g->log_dir = log_dir;
    g->finish = spec->finish;
    g->attempt = spec->attempt;
    g->attempts++;
    g->phase = STEP_RUNS;
    g->stop_asked = g->stop_sent = false;
    g->pending_signal = 0;
    step_watch_again(&g->watch);
    return order_send(g, "begin", err);
}

const struct launcher_ops launcher_slurm = {
    .usable = slurm_usable,
    .check_start = slurm_check_start,
    .in_step = slurm_in_step,
    .check = slurm_mpi_check,
    .examine = slurm_site_check,
    .allocate = slurm_allocate,
    .allocate_command = slurm_allocate_command,
    .submit = slurm_submit,
    .resources = slurm_resources,
    .command = slurm_step_argv,
    .start = slurm_start,
    .fd = slurm_fd,
    .advance = slurm_advance,
    .signal = slurm_signal,
    .kill = slurm_kill,
    .abandon = slurm_abandon,
    .hear = slurm_hear,
    .again = slurm_again,
    .destroy = slurm_destroy,
    .keep_obstacle = slurm_keep_obstacle,
    .ask = slurm_probe_ask,
    .leftovers = slurm_job_step_nodes,
    .await_ready = slurm_await_ready,
};
