#include "config.h"
#include "worker/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static char *text_append(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    return to;
}

static char *number_append(char *to, unsigned number)
{
    char digits[16];
    int n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

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

    end = text_append(end, "raytrain: worker");
    if (crash_rank >= 0)
        end = number_append(text_append(end, " rank "), (unsigned)crash_rank);
    end = text_append(end, " died of ");
    end = text_append(end, crash_name(signo));
    end = text_append(end, "; the innermost call comes first:\n");
    ignored = write(STDERR_FILENO, line, (size_t)(end - line));
    (void)ignored;
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    raise(signo);
}

void crash_install(void)
{
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    struct sigaction action = {.sa_handler = crash_report,
                               .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
    struct sigaction old;
    void *frame[1];

    backtrace(frame, 1);
    if (sigaltstack(&stack, NULL) < 0)
        action.sa_flags &= ~SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (sigaction(crashes[i].signo, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(crashes[i].signo, &action, NULL);
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
