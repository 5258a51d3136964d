#include "config.h"
#include "worker/fork_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static pid_t worker;
static _Thread_local bool by_main;

static void before_fork(void)
{
    by_main = gettid() == worker;
}

/* In the child. The worker may have died before the prctl. */
static void after_fork(void)
{
    if (!by_main)
        return;
    by_main = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker)
        kill(getpid(), SIGKILL);
}

int fork_guard_install(struct error *err)
{
    int rc;

    worker = getpid();
    rc = pthread_atfork(before_fork, NULL, after_fork);
    return rc == 0 ? 0
                   : error_set(err, RAYTRAIN_ENOMEM, "cannot watch over forks: %s",
                               strerror(rc));
}
