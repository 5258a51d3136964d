#include "util/thread.h"

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
