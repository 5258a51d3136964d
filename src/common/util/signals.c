#include "util/signals.h"

#include <signal.h>
#include <stddef.h>

void signals_restore(void)
{
    /* With SIGCHLD ignored no child's exit status can be had. */
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
