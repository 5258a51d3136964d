#include "worker/stop.h"

#include <signal.h>
#include <string.h>

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
