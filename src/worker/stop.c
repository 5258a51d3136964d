#include "worker/stop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/run_dir.h"
#include "store/whereabouts.h"

static volatile sig_atomic_t requested;

static void stop_note(int signo)
{
    (void)signo;
    requested = 1;
}

static char told_path[PATH_MAX]; /* "": it is too long */
static int told_rank;

/* All async-signal-safe. What cannot be written is not heard. */
static void stop_note_told(int signo)
{
    int saved = errno;

    stop_note(signo);
    if (told_path[0])
        whereabouts_write(told_path, told_rank, "SIGTERM", 1);
    errno = saved;
}

/* SA_RESTART: the user's own reads and writes do not fail because we were asked. */
static int handler_install(int signo, void (*handler)(int), struct error *err)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    if (sigaction(signo, &action, NULL) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot handle signal %d", signo);
    return 0;
}

int stop_install(int signo, struct error *err)
{
    return handler_install(signo, stop_note, err);
}

int stop_install_told(const char *log_dir, int rank, struct error *err)
{
    if ((size_t)snprintf(told_path, sizeof told_path, "%s/" WHEREABOUTS_TOLD,
                         log_dir) >= sizeof told_path)
        told_path[0] = '\0';
    told_rank = rank;
    return handler_install(SIGTERM, stop_note_told, err);
}

bool stop_requested(void)
{
    return requested != 0;
}

bool stop_wanted(const char *log_dir)
{
    char path[PATH_MAX];

    return (size_t)snprintf(path, sizeof path, "%s/" RUN_DIR_RESIZE, log_dir) <
               sizeof path &&
           access(path, F_OK) == 0;
}
