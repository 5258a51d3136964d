/* thread.c - start threads with most signals blocked, and count the cores. */
#include "util/thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

/* These must not be blocked: a fault in a thread that blocks its signal kills the
 * process at once, and no handler can report where. */
void thread_signals_block(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t mask;

    sigfillset(&mask);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&mask, faults[i]);
    pthread_sigmask(SIG_SETMASK, &mask, before);
}

/* A new thread inherits the signal mask of its creator. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
                 struct error *err)
{
    sigset_t before;
    int rc;

    thread_signals_block(&before);
    rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM, "cannot start a thread: %s", strerror(rc));
}

int thread_cores(int most)
{
    cpu_set_t set;
    int n = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    return n < most ? n : most;
}
