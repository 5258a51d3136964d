/*
 * stack_trace.c - the handlers that write a stack: in a crash, and on request.
 *
 * Everything that the handlers call is async-signal-safe; backtrace(3) is so once its
 * library has been loaded, which stack_trace_install() does.
 */
#include "config.h"
#include "rank/stack_trace.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "protocol/failure.h"
#include "protocol/worker_env.h"
#include "rank/own_signals.h"
#include "util/async_text.h"

#define FRAMES_MAX 64

static volatile sig_atomic_t own_rank = -1;

/* The beginning of the first line. */
static char *worker_text(char *end)
{
    end = async_text(end, STACK_OF_WORKER);
    if (own_rank >= 0)
        end = async_number(async_text(end, " rank "), (uint64_t)own_rank);
    return end;
}

/* Complete the first line, which ends at `end` so far; write it, and the stack. */
static void stack_write(char *line, char *end)
{
    void *frames[FRAMES_MAX];
    ssize_t ignored;

    end = async_text(end, "; the innermost call comes first:\n");
    ignored = write(STDERR_FILENO, line, (size_t)(end - line));
    (void)ignored;
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
}

/* ---- A crash ---- */

#ifndef RAYTRAIN_SANITIZERS
#define STACK_BYTES (64 * 1024)

static const struct {
    int signo;
    const char *name;
} crashes[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};

static char crash_stack[STACK_BYTES];

static const char *crash_name(int signo)
{
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (crashes[i].signo == signo)
            return crashes[i].name;
    }
    return "a signal";
}

/* SA_RESETHAND has restored the default action: to raise the signal again kills the
 * process, with the core file that the user may want. */
static void crash_report(int signo)
{
    char line[128], *end;

    end = async_text(async_text(worker_text(line), STACK_OF_CRASH), crash_name(signo));
    stack_write(line, end);
    raise(signo);
}

static void crash_install(void)
{
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    struct sigaction old;
    int flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER;

    if (sigaltstack(&stack, NULL) < 0)
        flags &= ~SA_ONSTACK;
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (sigaction(crashes[i].signo, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            own_signal_install(crashes[i].signo, crash_report, flags, NULL);
    }
}
#else
static void crash_install(void)
{
}
#endif

/* ---- A request ---- */

static struct rank_status_place *volatile asked_place; /* NULL: not known yet */
static const char *volatile last_call = "the start-up";
static volatile int64_t last_calls;

/* Write to the log first: if storage hangs, the write to the status file may never
 * return. */
static void stack_report(int signo)
{
    char line[256], *end;
    int saved = errno;

    (void)signo;
    end = async_time(async_text(worker_text(line), " was asked for its stack at "),
                     time(NULL));
    end = async_text(async_text(end, "; its last collective call is "), last_call);
    stack_write(line, end);
    if (asked_place)
        rank_status_write(asked_place, RANK_STATUS_ASKED, last_call, last_calls);
    errno = saved;
}

void stack_trace_install(int rank)
{
    void *frame[1];

    backtrace(frame, 1);
    own_rank = rank;
    crash_install();
    own_signal_install(WORKER_STACK_SIGNAL, stack_report, SA_ONSTACK | SA_RESTART,
                       NULL);
}

void stack_trace_set_place(struct rank_status_place *place)
{
    own_rank = place->rank;
    asked_place = place;
}

void stack_trace_set_call(const char *call, int64_t calls)
{
    last_call = call;
    last_calls = calls;
}
