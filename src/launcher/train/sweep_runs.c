/* sweep_runs.c - the runs as children, one after the other, and the settings of a
 * single run. */
#include "train/sweep_runs.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/sweep.h"
#include "launch/batch_system.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/quote.h"

#define COMPARED_MAX 20 /* runs that are named to be compared */

/* The task of a job array that this process is; NULL: none. */
static const char *array_task(void)
{
    const struct batch_ops *batch = batch_find();

    return batch ? batch->number(BATCH_TASK) : NULL;
}

bool sweep_is_due(const struct options *opt)
{
    return opt->sweeps && !opt->submit.wanted && !opt->sweep_task && !array_task();
}

/* ---- One after the other ---- */

/* Signals that are passed on to the run. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

struct sweep {
    const struct options *opt;
    struct train_config *cfg;
    char *const *argv;
    void (*say)(const char *text);
    int n;
    int signals; /* a signalfd; -1 */
    bool stopped;
};

static int signals_open(struct sweep *s, sigset_t *before, struct error *err)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, before);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals >= 0 ? 0
                           : error_set(err, RAYTRAIN_EFAILED,
                                       "cannot wait for signals: %s", strerror(errno));
}

/* A signal from the terminal has reached the run directly. */
static int signals_pass(struct sweep *s, const struct child *run, struct error *err)
{
    struct signalfd_siginfo info;

    while (read(s->signals, &info, sizeof info) == sizeof info) {
        s->stopped = true;
        if (info.ssi_code != SI_KERNEL &&
            child_signal(run, (int)info.ssi_signo, err) < 0)
            return -1;
    }
    return 0;
}

static int child_watch(struct sweep *s, struct child *run, int *wait_status,
                       struct error *err)
{
    bool gone = false;

    while (!gone) {
        struct pollfd fds[] = {{.fd = run->pidfd, .events = POLLIN},
                               {.fd = s->signals, .events = POLLIN}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "poll: %s", strerror(errno));
        if (signals_pass(s, run, err) < 0 ||
            child_reap(run, &gone, wait_status, err) < 0)
            return -1;
    }
    return 0;
}

/* This program and its arguments, with the number of the run. */
static int sweep_command_make(const struct sweep *s, int i, char ***out,
                              struct error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char **v = NULL;

    if (n < 0)
        return error_set(err, RAYTRAIN_EFAILED,
                         "cannot find the path of this program: %s", strerror(errno));
    self[n] = '\0';
    if (argv_append(&v, self, err) < 0 ||
        argv_appendf(&v, err, "--sweep-task=%d", i) < 0 ||
        argv_append_all(&v, s->argv + 1, err) < 0) {
        argv_free(v);
        return -1;
    }
    *out = v;
    return 0;
}

/* *status: the exit status of the run, as in a shell. */
static int one_run(struct sweep *s, int i, int *status, struct error *err)
{
    struct child run = CHILD_INIT;
    char **command;
    int wait_status, rc;

    if (sweep_command_make(s, i, &command, err) < 0)
        return -1;
    const struct child_spec spec = {.argv = command,
                                    .in = STDIN_FILENO,
                                    .out = STDOUT_FILENO,
                                    .err = STDERR_FILENO};

    rc = child_spawn(&spec, &run, err);
    if (rc == 0)
        rc = child_watch(s, &run, &wait_status, err);
    child_clear(&run);
    argv_free(command);
    if (rc == 0)
        *status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                         : 128 + WTERMSIG(wait_status);
    return rc;
}

static void say_run(const struct sweep *s, int i)
{
    char *what, *line;

    if (s->opt->quiet || sweep_apply(s->opt->sweeps, i, s->cfg, &what, NULL) < 0)
        return;
    if (asprintf(&line, "run %d of %d of the sweep: %s", i + 1, s->n, what) >= 0) {
        s->say(line);
        free(line);
    }
    free(what);
}

/* How to compare them; a name with a code is not known here. */
static void say_end(const struct sweep *s, int done, int failed)
{
    const char *name = s->cfg->run_config.name, *dir = s->cfg->run_config.storage_path;
    char *made = name ? strdup(name) : train_config_default_name(s->cfg);
    char **v = NULL, *line = NULL, *text = NULL;
    int rc = argv_append(&v, "raytrain-inspect", NULL);

    rc = rc < 0 ? rc : argv_append(&v, "--compare", NULL);
    if (!made || strchr(made, '%') || s->n > COMPARED_MAX)
        rc = rc < 0 ? rc : argv_append(&v, dir, NULL);
    for (int i = 0; rc == 0 && argv_count(v) < 3 + (size_t)i && i < done; i++)
        rc = argv_appendf(&v, NULL, "%s/%s-%d", dir, made, i);
    if (rc == 0)
        rc = argv_join(v, &line, NULL);
    if (rc == 0 &&
        asprintf(&text, "%d of %d runs of the sweep have ended, %d failed%s%s", done,
                 s->n, failed, done > 1 ? "; to compare them: " : "",
                 done > 1 ? line : "") >= 0) {
        s->say(text);
        free(text);
    }
    free(line);
    argv_free(v);
    free(made);
}

static int runs_make(struct sweep *s, int *status, struct error *err)
{
    const int trained = error_exit_status(RAYTRAIN_EFAILED);
    int failed = 0, i, rc = 0, last = 0;

    *status = 0;
    for (i = 0; rc == 0 && i < s->n && !s->stopped; i++) {
        say_run(s, i);
        rc = one_run(s, i, &last, err);
        failed += last != 0;
        if (rc == 0 && last != 0)
            *status = last;
        if (last != 0 && last != trained)
            s->stopped = true;
    }
    if (rc == 0 && *status == 0 && i < s->n)
        *status = error_exit_status(RAYTRAIN_ESTOPPED);
    if (rc == 0 && !s->opt->quiet && (i > 1 || !failed))
        say_end(s, i, failed);
    return rc;
}

int sweep_run(const struct options *opt, struct train_config *cfg, char *const argv[],
              void (*say)(const char *text), int *status, struct error *err)
{
    struct sweep s = {.opt = opt, .cfg = cfg, .argv = argv, .say = say, .signals = -1};
    sigset_t before;
    int rc;

    if ((s.n = sweep_count(opt->sweeps, err)) < 0)
        return -1;
    rc = signals_open(&s, &before, err);
    if (rc == 0)
        rc = runs_make(&s, status, err);
    if (s.signals >= 0)
        close(s.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* ---- One of the runs ---- */

static int task_read(const char *text, int n, int *task, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *end;
    long number = strtol(text, &end, 10);

    if (*text && !*end && number >= 0 && number < n) {
        *task = (int)number;
        return 0;
    }
    return error_set(
        err, RAYTRAIN_EUSAGE,
        "--sweep: there is no run %s among its %d runs, which are numbered "
        "from 0; as a job array, they are --array 0-%d",
        quote(text, quoted), n, n - 1);
}

static int array_ask(struct options *opt, int n, struct error *err)
{
    if (opt->submit.array)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--sweep makes an array of its runs: leave out --array");
    return asprintf(&opt->submit.array, "0-%d", n - 1) < 0 ? error_no_memory(err) : 0;
}

/* Give each run its own name. */
static int name_complete(struct train_config *cfg, struct error *err)
{
    char **name = &cfg->run_config.name, *longer;

    if (!*name || strstr(*name, "%a") || strstr(*name, "%j"))
        return 0;
    if (asprintf(&longer, "%s-%%a", *name) < 0)
        return error_no_memory(err);
    free(*name);
    *name = longer;
    return 0;
}

int sweep_settle(struct options *opt, struct train_config *cfg, struct error *err)
{
    int n, task = 0;

    if (!opt->sweeps && opt->sweep_task)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--sweep-task is a run of a sweep: add --sweep KEY=A,B,C");
    if (!opt->sweeps)
        return 0;
    if ((n = sweep_count(opt->sweeps, err)) < 0)
        return -1;
    if (opt->submit.wanted) {
        if (array_ask(opt, n, err) < 0)
            return -1;
    } else if (task_read(opt->sweep_task ? opt->sweep_task : array_task(), n, &task,
                         err) < 0) {
        return -1;
    }
    return sweep_apply(opt->sweeps, task, cfg, NULL, err) < 0 ? -1
                                                              : name_complete(cfg, err);
}
