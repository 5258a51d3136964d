#include "config.h"
#include "rank/fork_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rank/own_signals.h"

static pid_t worker;
static _Thread_local bool by_main;

static void before_fork(void)
{
    by_main = (pid_t)syscall(SYS_gettid) == worker;
    own_signals_hold();
}

/* The worker may have died before the prctl. */
static void die_with_worker(void)
{
    if (!by_main)
        return;
    by_main = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker)
        kill(getpid(), SIGKILL);
}

static void after_fork_in_child(void)
{
    own_signals_reset();
    own_signals_release();
    die_with_worker();
}

int fork_guard_install(struct error *err)
{
    int rc;

    worker = getpid();
    rc = pthread_atfork(before_fork, own_signals_release, after_fork_in_child);
    return rc == 0 ? 0
                   : error_set(err, RAYTRAIN_ENOMEM, "cannot watch over forks: %s",
                               strerror(rc));
}
