/* own_signals.c - the list of handled signals, and their actions in children. */
#include "rank/own_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define SIGNALS_MAX 16

static struct {
    int signo;
    void (*handler)(int); /* ours, or a library's that calls ours */
    struct sigaction before;
    bool
        replaced; /* the training function has set its own handler when it was loaded */
} own[SIGNALS_MAX];
static size_t n_own;
static _Thread_local sigset_t held; /* the thread's mask before the hold */

static size_t own_find(int signo)
{
    size_t i = 0;

    while (i < n_own && own[i].signo != signo)
        i++;
    return i;
}

int own_signal_install(int signo, void (*handler)(int), int flags, struct error *err)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
    size_t i = own_find(signo);
    sigset_t heard;

    sigemptyset(&action.sa_mask);
    sigemptyset(&heard);
    sigaddset(&heard, signo);
    if (i == SIGNALS_MAX)
        return error_set(err, RAYTRAIN_EFAILED, "too many signals to handle");
    if (sigaction(signo, &action, &before) < 0 ||
        pthread_sigmask(SIG_UNBLOCK, &heard, NULL) != 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot handle signal %d: %s", signo,
                         strerror(errno));
    if (i == n_own) {
        own[n_own].signo = signo;
        own[n_own++].before = before;
    }
    own[i].handler = handler;
    return 0;
}

/* The present handler; NULL: unknown. sa_sigaction shares its place with sa_handler. */
static void (*handler_now(int signo))(int)
{
    struct sigaction now;

    return sigaction(signo, NULL, &now) == 0 ? now.sa_handler : NULL;
}

void own_signals_before_libraries(void)
{
    for (size_t i = 0; i < n_own; i++)
        own[i].replaced = handler_now(own[i].signo) != own[i].handler;
}

void own_signals_after_libraries(void)
{
    for (size_t i = 0; i < n_own; i++)
        if (!own[i].replaced)
            own[i].handler = handler_now(own[i].signo);
}

void own_signals_hold(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < n_own; i++)
        sigaddset(&set, own[i].signo);
    pthread_sigmask(SIG_BLOCK, &set, &held);
}

void own_signals_release(void)
{
    pthread_sigmask(SIG_SETMASK, &held, NULL);
}

void own_signals_reset(void)
{
    for (size_t i = 0; i < n_own; i++)
        if (handler_now(own[i].signo) == own[i].handler)
            sigaction(own[i].signo, &own[i].before, NULL);
}
