#include "rank/stop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/worker_env.h"
#include "rank/own_signals.h"
#include "protocol/log_dir.h"
#include "run/run_dir.h"
#include "util/fs.h"

static volatile sig_atomic_t requested;
static struct rank_status_place *sigterm_place;

static void stop_note(int signo)
{
    (void)signo;
    requested = 1;
}

/* All async-signal-safe. If it cannot be written, the launcher does not learn of it. */
static void sigterm_note(int signo)
{
    int saved = errno;

    stop_note(signo);
    rank_status_write(sigterm_place, RANK_STATUS_SIGTERM, "SIGTERM", 1);
    errno = saved;
}

/* SA_RESTART: the user's own reads and writes do not fail because of a request. */
int stop_install(struct error *err)
{
    return own_signal_install(WORKER_STOP_SIGNAL, stop_note, SA_RESTART, err);
}

int stop_install_sigterm(struct rank_status_place *place, struct error *err)
{
    sigterm_place = place;
    return own_signal_install(SIGTERM, sigterm_note, SA_RESTART, err);
}

bool stop_requested(void)
{
    return requested != 0;
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
