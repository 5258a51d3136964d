/* stop.c - the handlers of requests to stop, and the flags that they set. */
#include "rank/stop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/worker_env.h"
#include "rank/own_signals.h"
#include "protocol/log_dir.h"
#include "run/run_dir.h"
#include "util/fs.h"

static volatile sig_atomic_t requested, terminated;
static int descriptor = -1;
static bool of_task;                    /* its task outlives the launcher */
static struct rank_status_place *place; /* NULL: not known yet */

/* A failure is ignored: then the launcher does not know of the request. */
static void request_record(enum rank_status_kind kind, const char *name)
{
    if (place)
        rank_status_write(place, kind, name, 1);
}

/*
 * The last report is wanted even if the launcher dies: from now on this process does
 * not die with it (launcher/launch/finish.h). That is a property of the main thread, so
 * the signal is sent to it, too. A task (worker/task) outlives the launcher by itself,
 * and its worker dies with it.
 */
static void launcher_outlive(int signo)
{
    int with_parent = 0;

    if ((pid_t)syscall(SYS_gettid) != getpid()) {
        syscall(SYS_tgkill, getpid(), getpid(), signo);
    } else if (!of_task && prctl(PR_GET_PDEATHSIG, &with_parent) == 0 &&
               with_parent != 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        request_record(RANK_STATUS_STOP, "stop");
    }
}

/* All calls are async-signal-safe. A counter that is full is still readable. */
static void request_note(void)
{
    const uint64_t one = 1;
    int saved = errno;

    requested = 1;
    if (write(descriptor, &one, sizeof one) < 0)
        errno = saved;
}

static void stop_note(int signo)
{
    int saved = errno;

    request_note();
    launcher_outlive(signo);
    errno = saved;
}

static void sigterm_note(int signo)
{
    int saved = errno;

    (void)signo;
    terminated = 1;
    request_note();
    request_record(RANK_STATUS_SIGTERM, "SIGTERM");
    errno = saved;
}

/* SA_RESTART, so that the user's own reads and writes do not fail because of a
 * request. */
int stop_install(struct error *err)
{
    if (descriptor < 0)
        descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make an event descriptor: %s",
                         strerror(errno));
    of_task = getenv(WORKER_TASK_MARK) != NULL;
    return own_signal_install(WORKER_STOP_SIGNAL, stop_note, SA_RESTART, err);
}

void stop_set_place(struct rank_status_place *at)
{
    place = at;
}

int stop_install_sigterm(struct error *err)
{
    return own_signal_install(SIGTERM, sigterm_note, SA_RESTART, err);
}

bool stop_requested(void)
{
    return requested != 0;
}

bool stop_terminated(void)
{
    return terminated != 0;
}

int stop_descriptor(void)
{
    return descriptor;
}

void stop_clear_descriptor(void)
{
    uint64_t count;

    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

bool stop_resize_requested(const char *log_dir)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/" LOG_DIR_RESIZE, log_dir) >=
        sizeof path)
        return false;
    fs_look_again(path);
    return access(path, F_OK) == 0;
}
