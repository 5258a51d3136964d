/*
 * child.c - start a child, reap it, signal it.
 *
 * The program is started through vfork(2): the memory of the parent, which may be large
 * and have many threads, is not copied, and the parent continues only after the execve,
 * so that a failure is simply a variable. The price: between vfork and execve the child
 * makes system calls only, in child_become().
 */
#include "util/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/descriptors.h"
#include "util/fault.h"
#include "util/process.h"

extern char **environ;

#define N_STDIO          3
#define ANNOUNCE_WAIT_MS 1000
#define KILLED_WAIT_S    5.0

/* What the child needs, prepared before the vfork. */
struct child_plan {
    const struct child_spec *spec;
    char *const *env;
    int stdio[N_STDIO]; /* all >= N_STDIO, so that no dup2 overwrites a source */
    pid_t parent;
    bool hangup_ignored;
    volatile int failed; /* errno of the step that failed, 0: none */
};

/* Signals that the terminal sent while the child was still in the parent's group were
 * not for it. Ignoring a signal discards pending ones. */
static void signals_reset(bool hangup_ignored, int ignored)
{
    static const int of_terminal[] = {SIGINT, SIGQUIT, SIGTSTP, SIGHUP};
    struct sigaction act = {.sa_handler = SIG_IGN};
    sigset_t none;

    for (size_t i = 0; i < sizeof of_terminal / sizeof *of_terminal; i++)
        sigaction(of_terminal[i], &act, NULL);
    act.sa_handler = SIG_DFL;
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP && !(sig == SIGHUP && hangup_ignored))
            sigaction(sig, &act,
                      NULL); /* glibc refuses its own two, which are default */
    if (ignored > 0)
        signal(ignored, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The parent is waiting, so this must not take long: EAGAIN if nothing reads from the
 * socket. */
static int pid_announce(int socket)
{
    struct pollfd room = {.fd = socket, .events = POLLOUT};
    pid_t self = getpid();
    ssize_t sent;

    do
        sent = send(socket, &self, sizeof self, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EAGAIN && poll(&room, 1, ANNOUNCE_WAIT_MS) > 0);
    return sent < 0 && errno != EPIPE ? -1 : 0;
}

/* Without a terminal: a background process that reads from one is stopped. */
static int group_lead(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (terminal >= 0) {
        (void)ioctl(terminal, TIOCNOTTY);
        close(terminal);
    }
    return setpgid(0, 0);
}

/* In the child, on the parent's memory, with all signals blocked. */
static void child_become(struct child_plan *p) __attribute__((noreturn));

static void child_become(struct child_plan *p)
{
    const struct child_spec *spec = p->spec;

    if (spec->own_session && setsid() < 0)
        goto fail;
    if (spec->own_group && !spec->own_session && group_lead() < 0)
        goto fail;
    if (spec->die_with_parent) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
            goto fail;
        if (getppid() != p->parent) /* the parent died before the prctl */
            _exit(127);
    }
    if (spec->cpus)
        (void)sched_setaffinity(0, sizeof *spec->cpus, spec->cpus);
    if (spec->announce > 0 && pid_announce(spec->announce) < 0)
        goto fail;
    for (int fd = 0; fd < N_STDIO; fd++)
        if (dup2(p->stdio[fd], fd) < 0)
            goto fail;
    if (descriptors_cloexec(N_STDIO) < 0)
        goto fail;
    if (spec->kept >= N_STDIO && fcntl(spec->kept, F_SETFD, 0) < 0)
        goto fail;
    if (spec->kept_too >= N_STDIO && fcntl(spec->kept_too, F_SETFD, 0) < 0)
        goto fail;
    if (spec->dir && chdir(spec->dir) < 0)
        goto fail;
    signals_reset(p->hangup_ignored, spec->ignored);
    execvpe(spec->argv[0], spec->argv, p->env);
fail:
    p->failed = errno;
    _exit(127);
}

static pid_t plan_execute(struct child_plan *p)
{
    static int n_started;
    pid_t pid;

    if (fault_point("child.spawn", n_started++) < 0)
        return -1;
    pid = vfork();

    if (pid == 0)
        child_become(p);
    return pid;
}

static void plan_close(struct child_plan *p)
{
    for (int i = 0; i < N_STDIO; i++)
        if (p->stdio[i] >= 0)
            close(p->stdio[i]);
}

static int plan_open(struct child_plan *p, struct error *err)
{
    const int asked[N_STDIO] = {p->spec->in, p->spec->out, p->spec->err};

    for (int i = 0; i < N_STDIO; i++) {
        int fd = asked[i];

        if (fd < 0)
            fd = open("/dev/null", (i ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        if (fd >= 0)
            p->stdio[i] = fcntl(fd, F_DUPFD_CLOEXEC, N_STDIO);
        if (fd >= 0 && asked[i] < 0)
            close(fd);
        if (p->stdio[i] < 0)
            return error_set(err, RAYTRAIN_EFAILED,
                             "cannot open descriptor %d of %s: %s", i, p->spec->argv[0],
                             strerror(errno));
    }
    return 0;
}

static int spawn_error(const struct child_spec *spec, int errnum, struct error *err)
{
    raytrain_status code = RAYTRAIN_EINVAL;

    if (errnum == ENOENT || errnum == ENOTDIR)
        code = RAYTRAIN_ENOTFOUND;
    else if (errnum == EAGAIN || errnum == ENOMEM)
        code = RAYTRAIN_ENOMEM;
    error_set(err, code, "cannot start %s: %s", spec->argv[0], strerror(errnum));
    errno = errnum;
    return -1;
}

int child_spawn(const struct child_spec *spec, struct child *c, struct error *err)
{
    struct child_plan plan = {.spec = spec,
                              .env = spec->env ? spec->env : environ,
                              .stdio = {-1, -1, -1},
                              .parent = getpid(),
                              .hangup_ignored = signals_hangup_is_ignored()};
    sigset_t all, saved;
    int errnum, cancel;

    *c = (struct child)CHILD_INIT;
    if (plan_open(&plan, err) < 0) {
        plan_close(&plan);
        return -1;
    }
    /* None of our handlers may run in the child, which shares our memory. */
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    c->pid = plan_execute(&plan);
    errnum = c->pid < 0 ? errno : plan.failed;
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    pthread_setcancelstate(cancel, NULL);
    plan_close(&plan);

    if (c->pid > 0 && errnum == 0) {
        c->group = spec->own_session || spec->own_group;
        c->pidfd = process_child_fd(c->pid);
        if (c->pidfd >= 0)
            return 0;
        errnum = errno;
    }
    if (c->pid > 0)
        child_clear(c);
    *c = (struct child)CHILD_INIT;
    return spawn_error(spec, errnum, err);
}

static int group_kill(const struct child *c)
{
    return c->group ? kill(-c->pid, SIGKILL) : 0;
}

/* The pid, and the id of its process group with it, is reserved until waitid() reaps
 * the child. Kill the group before that, while no other group can have the id. */
static int child_collect(struct child *c, int flags, bool *gone, int *wait_status,
                         struct error *err)
{
    siginfo_t info = {0};
    int status;

    *gone = false;
    while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT | flags) < 0)
        if (errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "cannot wait for process %d: %s",
                             (int)c->pid, strerror(errno));
    if (info.si_pid == 0)
        return 0;
    group_kill(c);
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "cannot reap process %d: %s",
                             (int)c->pid, strerror(errno));
    if (c->pidfd >= 0)
        close(c->pidfd);
    *c = (struct child)CHILD_INIT;
    *gone = true;
    if (wait_status)
        *wait_status = status;
    return 0;
}

int child_reap(struct child *c, bool *gone, int *wait_status, struct error *err)
{
    return child_collect(c, WNOHANG, gone, wait_status, err);
}

int child_wait(struct child *c, int *wait_status, struct error *err)
{
    bool gone;

    return child_collect(c, 0, &gone, wait_status, err);
}

static int signal_result(const struct child *c, int sig, int rc, struct error *err)
{
    if (rc == 0 || errno == ESRCH)
        return 0;
    return error_set(err, RAYTRAIN_EFAILED, "cannot send signal %d to process %d: %s",
                     sig, (int)c->pid, strerror(errno));
}

int child_signal(const struct child *c, int sig, struct error *err)
{
    if (c->pid <= 0)
        return 0;
    return signal_result(c, sig, kill(c->pid, sig), err);
}

int child_signal_group(const struct child *c, int sig, struct error *err)
{
    if (c->pid <= 0)
        return 0;
    if (sig == SIGKILL && c->group)
        return signal_result(c, sig, group_kill(c), err);
    return signal_result(c, sig, kill(c->group ? -c->pid : c->pid, sig), err);
}

void child_clear(struct child *c)
{
    int saved = errno;

    if (c->pid > 0) {
        child_signal_group(c, SIGKILL, NULL);
        (void)process_reap(c->pid, KILLED_WAIT_S, NULL);
    }
    if (c->pidfd >= 0)
        close(c->pidfd);
    *c = (struct child)CHILD_INIT;
    errno = saved;
}
