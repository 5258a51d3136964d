/*
 * process_guard.c - the handlers for fork(2), which kill children with their worker,
 * and for exit(3). The signals of children are reset by own_signals.c.
 */
#include "config.h"
#include "rank/process_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rank/own_signals.h"

/* ---- Forks ---- */

static pid_t forker; /* the worker: its process, and its main thread */
static _Thread_local bool by_main;

static void before_fork(void)
{
    by_main = (pid_t)syscall(SYS_gettid) == forker;
    own_signals_hold();
}

/* Tie this child to the worker, which may have died before the prctl(). */
static void die_with_worker(void)
{
    if (!by_main)
        return;
    by_main = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != forker)
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

    forker = getpid();
    rc = pthread_atfork(before_fork, own_signals_release, after_fork_in_child);
    return rc == 0 ? 0
                   : error_set(err, RAYTRAIN_ENOMEM,
                               "cannot register fork handlers: %s", strerror(rc));
}

/* ---- Exits ---- */

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

/* Exit handlers run in reverse order: those of the training function have run; those of
 * the libraries below it, some of which wait for other ranks, are skipped. */
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

void exit_guard_enter(void (*called)(void *arg, int status), void *arg)
{
    guard.on_exit = called;
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
