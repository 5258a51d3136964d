#include "rank/stop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rank/own_signals.h"
#include "run/run_dir.h"
#include "util/fs.h"

static volatile sig_atomic_t requested;

static void stop_note(int signo)
{
    (void)signo;
    requested = 1;
}

static struct whereabouts_place *told_place;

/* All async-signal-safe. What cannot be written is not heard. */
static void stop_note_told(int signo)
{
    int saved = errno;

    stop_note(signo);
    whereabouts_write(told_place, WHEREABOUTS_TOLD, "SIGTERM", 1);
    errno = saved;
}

/* SA_RESTART: the user's own reads and writes do not fail because we were asked. */
int stop_install(int signo, struct error *err)
{
    return own_signal_install(signo, stop_note, SA_RESTART, err);
}

int stop_install_told(struct whereabouts_place *place, struct error *err)
{
    told_place = place;
    return own_signal_install(SIGTERM, stop_note_told, SA_RESTART, err);
}

bool stop_requested(void)
{
    return requested != 0;
}

bool stop_wanted(const char *log_dir)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/" RUN_DIR_RESIZE, log_dir) >=
        sizeof path)
        return false;
    fs_look_again(path);
    return access(path, F_OK) == 0;
}
