#include "config.h"
#include "rank/stack_trace.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "protocol/whereabouts.h"
#include "protocol/worker_env.h"
#include "rank/own_signals.h"
#include "util/async_text.h"

/* Everything that the handler touches is async-signal-safe; backtrace(3) is once its
 * library has been loaded, which stack_trace_install() sees to. */

#define FRAMES_MAX 64

static struct whereabouts_place *volatile asked_place; /* NULL: not known yet */
static volatile sig_atomic_t own_rank = -1;
static const char *volatile last_call = "the start-up";
static volatile int64_t last_calls;

static void header_write(void)
{
    char line[256], *end = line;
    ssize_t ignored;

    end = async_text(end, "raytrain: worker");
    if (own_rank >= 0)
        end = async_number(async_text(end, " rank "), (uint64_t)own_rank);
    end = async_time(async_text(end, " was asked for its stack at "), time(NULL));
    end = async_text(async_text(end, "; it has come to "), last_call);
    end = async_text(end, "; the innermost call comes first:\n");
    ignored = write(STDERR_FILENO, line, (size_t)(end - line));
    (void)ignored;
}

/* The log first: where the storage hangs, the file may be as far as this comes. */
static void stack_report(int signo)
{
    void *frames[FRAMES_MAX];
    int saved = errno;

    (void)signo;
    header_write();
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    if (asked_place)
        whereabouts_write(asked_place, WHEREABOUTS_ASKED, last_call, last_calls);
    errno = saved;
}

void stack_trace_install(int rank)
{
    void *frame[1];

    backtrace(frame, 1);
    own_rank = rank;
    own_signal_install(WORKER_STACK_SIGNAL, stack_report, SA_ONSTACK | SA_RESTART,
                       NULL);
}

void stack_trace_set_place(struct whereabouts_place *place)
{
    own_rank = place->rank;
    asked_place = place;
}

void stack_trace_set_call(const char *call, int64_t calls)
{
    last_call = call;
    last_calls = calls;
}
