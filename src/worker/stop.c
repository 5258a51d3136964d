#include "worker/stop.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/run_dir.h"

static volatile sig_atomic_t requested;

static void stop_note(int signo)
{
    (void)signo;
    requested = 1;
}

/* SA_RESTART: the user's own reads and writes do not fail because we were asked. */
int stop_install(int signo, struct error *err)
{
    struct sigaction action = {.sa_handler = stop_note, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    if (sigaction(signo, &action, NULL) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot handle signal %d", signo);
    return 0;
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
