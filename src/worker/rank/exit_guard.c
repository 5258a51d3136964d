#include "config.h"
#include "rank/exit_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    bool registered, inside;
    pid_t worker;
    void (*on_exit)(void *arg, int status);
    void *arg;
} guard;

static void child_leave(int status)
{
    if (getpid() != guard.worker)
        exit_now(status, false);
}

/* Handlers run in reverse order: those of the training function have run by now, those
 * of the libraries below it, some of which wait for other ranks, are left out. */
static void guard_exit(int status, void *unused)
{
    (void)unused;
    if (!guard.inside)
        return;
    guard.inside = false;
    child_leave(status);
    guard.on_exit(guard.arg, status);
    exit_now(1, false);
}

void exit_guard_enter(void (*told)(void *arg, int status), void *arg)
{
    guard.on_exit = told;
    guard.arg = arg;
    guard.worker = getpid();
    guard.inside = true;
    if (!guard.registered)
        guard.registered = on_exit(guard_exit, NULL) == 0;
}

void exit_guard_leave(int status)
{
    child_leave(status);
    guard.inside = false;
}

#ifdef RAYTRAIN_SANITIZERS
void __lsan_do_leak_check(void);
#endif

void exit_now(int status, bool leak_check)
{
    fflush(NULL);
#ifdef RAYTRAIN_SANITIZERS
    if (leak_check)
        __lsan_do_leak_check();
#else
    (void)leak_check;
#endif
    _exit(status);
}
