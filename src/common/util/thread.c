#include "util/thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

/* A new thread inherits the signal mask of its creator. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
                 struct error *err)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
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
