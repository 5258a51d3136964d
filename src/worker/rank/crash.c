#include "config.h"
#include "rank/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank/own_signals.h"
#include "util/async_text.h"

/* Everything that the handler touches is async-signal-safe; backtrace(3) is once its
 * library has been loaded, which crash_install() sees to. */

#define FRAMES_MAX  64
#define STACK_BYTES (64 * 1024)

static const struct {
    int signo;
    const char *name;
} crashes[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};

static volatile sig_atomic_t crash_rank = -1;
#ifndef RAYTRAIN_SANITIZERS
static char crash_stack[STACK_BYTES];

static const char *crash_name(int signo)
{
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (crashes[i].signo == signo)
            return crashes[i].name;
    }
    return "a signal";
}

/* SA_RESETHAND has restored the default action: raising the signal again kills the
 * process with it, and leaves the core that the user may want. */
static void crash_report(int signo)
{
    char line[128], *end = line;
    void *frames[FRAMES_MAX];
    ssize_t ignored;

    end = async_text(end, "raytrain: worker");
    if (crash_rank >= 0)
        end = async_number(async_text(end, " rank "), (uint64_t)crash_rank);
    end = async_text(async_text(end, " died of "), crash_name(signo));
    end = async_text(end, "; the innermost call comes first:\n");
    ignored = write(STDERR_FILENO, line, (size_t)(end - line));
    (void)ignored;
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    raise(signo);
}

void crash_install(void)
{
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    struct sigaction old;
    int flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
    void *frame[1];

    backtrace(frame, 1);
    if (sigaltstack(&stack, NULL) < 0)
        flags &= ~SA_ONSTACK;
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (sigaction(crashes[i].signo, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            own_signal_install(crashes[i].signo, crash_report, flags, NULL);
    }
}
#else
void crash_install(void)
{
    (void)crashes;
}
#endif

void crash_set_rank(int rank)
{
    crash_rank = rank;
}
