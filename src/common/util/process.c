/*
 * process.c - pidfds, and their replacement on older kernels: a thread for a child,
 * /proc for any other process. child.c starts children.
 */
#include "util/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/thread.h"

/* The same on every architecture; headers of older systems lack it. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define LOOK_EVERY_MS 20
#define STAT_MAX      1024

static int kernel_pidfd(pid_t pid)
{
    if (fault_point("os.pidfd", -1) < 0)
        return -1;
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* A kernel without the call reports ENOSYS; some sandboxes forbid it with EPERM. */
static bool kernel_lacks_it(void)
{
    return errno == ENOSYS || errno == EPERM;
}

/* Usually the process ends at once, so the first checks are close together. */
bool process_reap(pid_t child, double seconds, int *wait_status)
{
    double until = clock_now() + seconds;
    pid_t got;

    for (int ms = 1;; ms = ms < LOOK_EVERY_MS ? 2 * ms : ms) {
        while ((got = waitpid(child, wait_status, WNOHANG)) < 0 && errno == EINTR)
            continue;
        if (got != 0)
            return true; /* also with ECHILD: it is gone */
        if (clock_now() > until)
            return false;
        poll(NULL, 0, ms);
    }
}

/* ---- A child, by a thread that waits for it ---- */

struct waiter {
    pid_t child;
    int event;
};

/* The child has ended, whether this thread sees the end or finds that there is no such
 * child any more. */
static void *waiter_run(void *arg)
{
    const struct waiter w = *(struct waiter *)arg;
    const uint64_t over = 1;
    siginfo_t info;

    free(arg);
    while (waitid(P_PID, (id_t)w.child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    while (write(w.event, &over, sizeof over) < 0 && errno == EINTR)
        continue;
    close(w.event);
    return NULL;
}

static int waiter_start(struct waiter *w)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t saved;
    int rc = pthread_attr_init(&attr);

    if (rc != 0)
        return rc;
    thread_signals_block(&saved);
    rc = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (rc == 0)
        rc = pthread_create(&thread, &attr, waiter_run, w);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

static int waiter_fd(pid_t child)
{
    struct waiter *w = malloc(sizeof *w);
    int fd = eventfd(0, EFD_CLOEXEC), rc;

    if (!w || fd < 0)
        goto fail;
    *w = (struct waiter){.child = child, .event = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (w->event < 0)
        goto fail;
    rc = waiter_start(w);
    if (rc == 0)
        return fd;
    close(w->event);
    errno = rc;
fail:
    rc = errno;
    free(w);
    if (fd >= 0)
        close(fd);
    errno = rc;
    return -1;
}

int process_child_fd(pid_t child)
{
    int fd = kernel_pidfd(child);

    return fd < 0 && kernel_lacks_it() ? waiter_fd(child) : fd;
}

/* ---- Any process, by its entry in /proc ---- */

/* /proc/PID/stat after field 2, which is in parentheses and may contain anything. NULL:
 * there is no such process. */
static const char *stat_read(pid_t pid, char text[STAT_MAX])
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    n = read(fd, text, STAT_MAX - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strrchr(text, ')');
}

bool process_is_stopped(pid_t pid)
{
    char text[STAT_MAX];
    const char *at = stat_read(pid, text);

    return at && (strncmp(at, ") T", 3) == 0 || strncmp(at, ") t", 3) == 0);
}

bool process_is_runnable(pid_t pid)
{
    char path[64], text[STAT_MAX];
    const struct dirent *entry;
    bool runnable = false;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    tasks = opendir(path);
    while (tasks && !runnable && (entry = readdir(tasks))) {
        pid_t thread = (pid_t)atol(entry->d_name);
        const char *at = thread > 0 ? stat_read(thread, text) : NULL;

        runnable = at && strncmp(at, ") R", 3) == 0;
    }
    if (tasks)
        closedir(tasks);
    return runnable;
}

/* Field 22. 0: there is no such process, or it is a zombie. */
unsigned long long process_birth(pid_t pid)
{
    char text[STAT_MAX];
    const char *at = stat_read(pid, text);

    if (!at || strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)
        return 0;
    for (int field = 2; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

int process_open(pid_t pid, struct process *p)
{
    *p = (struct process){.pid = pid, .fd = kernel_pidfd(pid)};
    if (p->fd >= 0 || !kernel_lacks_it())
        return p->fd < 0 ? -1 : 0;
    p->born = process_birth(pid);
    if (p->born == 0)
        errno = ESRCH;
    return p->born == 0 ? -1 : 0;
}

static bool process_is_over(const struct process *p, int wait_ms)
{
    struct pollfd end = {.fd = p->fd, .events = POLLIN};

    if (p->fd < 0 && process_birth(p->pid) != p->born)
        return true;
    return poll(&end, 1, wait_ms) > 0;
}

bool process_wait(const struct process *p, int timeout_ms)
{
    double until = clock_now() + timeout_ms / 1e3;
    bool over;

    for (;;) {
        double left_ms = (until - clock_now()) * 1e3;
        int wait_ms = timeout_ms < 0 ? -1 : left_ms > 0 ? (int)left_ms + 1 : 0;

        if (p->fd < 0 && (wait_ms < 0 || wait_ms > LOOK_EVERY_MS))
            wait_ms = LOOK_EVERY_MS;
        over = process_is_over(p, wait_ms);
        if (over || (timeout_ms >= 0 && clock_now() >= until))
            return over || (p->fd < 0 && process_birth(p->pid) != p->born);
    }
}

void process_close(struct process *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

/* ---- Where a pid is valid ---- */

void place_of_self(char place[PLACE_MAX])
{
    char host[65] = "unknown", boot[64] = "";
    struct stat ns = {0};
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");

    gethostname(host, sizeof host - 1);
    if (in && !fgets(boot, sizeof boot, in))
        boot[0] = '\0';
    if (in)
        fclose(in);
    boot[strcspn(boot, "\n")] = '\0';
    stat("/proc/self/ns/pid", &ns);
    snprintf(place, PLACE_MAX, "%s %s %lu", host, boot, (unsigned long)ns.st_ino);
}

static uint32_t own_place_number;

/* FNV-1a. */
static void number_find(void)
{
    char place[PLACE_MAX];

    place_of_self(place);
    own_place_number = 2166136261u;
    for (const char *c = place; *c; c++)
        own_place_number = (own_place_number ^ (unsigned char)*c) * 16777619u;
}

uint32_t place_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, number_find);
    return own_place_number;
}

/* ---- This process's signals ---- */

void signals_restore(void)
{
    /* With SIGCHLD ignored, exit statuses of children are lost. */
    static const int heard[] = {SIGCHLD, SIGPIPE, SIGINT, SIGTERM, SIGUSR1, SIGALRM};
    sigset_t none;

    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        signal(heard[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

bool signals_hangup_is_ignored(void)
{
    struct sigaction action;

    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}
