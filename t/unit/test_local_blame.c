#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "local/blame.h"

/* wait statuses, as the kernel packs them */
#define EXITED(status) ((status) << 8)
#define SIGNALLED(sig) (sig)

enum step_kind { END, ENDED, DESERTED, ABORT, NOBODY, KILLED };

/* Events, in the order in which the launcher learns of them. */
struct step {
    enum step_kind kind;
    int rank, value;
};

static const struct {
    const char *what;
    struct step steps[8];
    bool failed, stopped, must_end;
    int rank, exit_status, signal;
} table[] = {
    {"all finish",
     {{ENDED, 0, EXITED(0)}, {ENDED, 1, EXITED(0)}},
     false,
     false,
     false,
     -1,
     0,
     0},
    {"one fails, the others are killed by us",
     {{ENDED, 1, EXITED(3)}, {KILLED, 0, 0}, {ENDED, 0, SIGNALLED(SIGKILL)}},
     true,
     false,
     true,
     1,
     3,
     0},
    {"the first of two failures",
     {{ENDED, 1, EXITED(3)}, {ENDED, 0, EXITED(4)}, {KILLED, 0, 0}},
     true,
     false,
     true,
     1,
     3,
     0},
    {"one leaves with status 0 before the work is done",
     {{DESERTED, 1, EXITED(0)}, {KILLED, 0, 0}, {ENDED, 0, SIGNALLED(SIGKILL)}},
     true,
     false,
     true,
     1,
     0,
     0},
    {"a crash is seen after what it caused",
     {{ENDED, 0, EXITED(1)}, {KILLED, 0, 0}, {ENDED, 2, SIGNALLED(SIGSEGV)}},
     true,
     false,
     true,
     2,
     0,
     SIGSEGV},
    {"killed from outside, before we killed",
     {{ENDED, 0, EXITED(1)}, {ENDED, 2, SIGNALLED(SIGKILL)}, {KILLED, 0, 0}},
     true,
     false,
     true,
     2,
     0,
     SIGKILL},
    {"the crash after the crash",
     {{ENDED, 2, SIGNALLED(SIGSEGV)}, {ENDED, 1, SIGNALLED(SIGABRT)}, {KILLED, 0, 0}},
     true,
     false,
     true,
     2,
     0,
     SIGSEGV},
    {"an abort explains a status",
     {{ENDED, 2, EXITED(1)}, {ABORT, 1, 42}, {KILLED, 0, 0}, {ENDED, 1, EXITED(7)}},
     true,
     false,
     true,
     1,
     42,
     0},
    {"an abort with status 0 is a failure",
     {{ABORT, 1, 0}, {KILLED, 0, 0}},
     true,
     false,
     true,
     1,
     0,
     0},
    {"killed on request",
     {{NOBODY, 0, SIGKILL},
      {KILLED, 0, 0},
      {ENDED, 1, EXITED(1)},
      {ENDED, 0, SIGNALLED(SIGKILL)}},
     true,
     false,
     true,
     -1,
     0,
     SIGKILL},
    {"all stop",
     {{ENDED, 0, EXITED(75)}, {ENDED, 1, EXITED(75)}},
     false,
     true,
     false,
     -1,
     0,
     0},
    {"one stops, one had finished",
     {{ENDED, 0, EXITED(75)}, {ENDED, 1, EXITED(0)}},
     false,
     true,
     false,
     -1,
     0,
     0},
    {"one stops, one fails",
     {{ENDED, 0, EXITED(75)}, {ENDED, 1, EXITED(1)}, {KILLED, 0, 0}},
     true,
     false,
     true,
     1,
     1,
     0},
    {"one fails, one stops",
     {{ENDED, 1, EXITED(1)}, {ENDED, 0, EXITED(75)}, {KILLED, 0, 0}},
     true,
     false,
     true,
     1,
     1,
     0},
    {"a stop signal before it listened",
     {{ENDED, 1, SIGNALLED(SIGUSR1)}, {KILLED, 0, 0}},
     true,
     false,
     true,
     1,
     0,
     SIGUSR1},
};

static void step_take(struct blame *b, const struct step *s)
{
    switch (s->kind) {
    case END:
        break;
    case ENDED:
        blame_worker(b, s->rank, s->value, false);
        break;
    case DESERTED:
        blame_worker(b, s->rank, s->value, true);
        break;
    case ABORT:
        blame_abort(b, s->rank, s->value, "because");
        break;
    case NOBODY:
        blame_no_worker(b, s->value, "on request");
        break;
    case KILLED:
        b->killed = true;
        break;
    }
}

static void which_worker_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct blame b;

        blame_init(&b);
        for (const struct step *s = table[i].steps; s->kind != END; s++)
            step_take(&b, s);
        if (b.outcome.failed != table[i].failed ||
            b.outcome.stopped != table[i].stopped || b.must_end != table[i].must_end ||
            b.outcome.failure.rank != table[i].rank ||
            b.outcome.failure.exit_status != table[i].exit_status ||
            b.outcome.failure.signal != table[i].signal)
            fail_msg("%s: failed %d stopped %d must_end %d rank %d status %d signal %d",
                     table[i].what, b.outcome.failed, b.outcome.stopped, b.must_end,
                     b.outcome.failure.rank, b.outcome.failure.exit_status,
                     b.outcome.failure.signal);
        assert_int_equal(strlen(b.outcome.failure.host) > 0, table[i].failed);
    }
}

static void long_messages_are_cut(void **state)
{
    static char text[5000];
    struct blame b;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    blame_init(&b);
    blame_abort(&b, 0, 1, text);
    assert_int_equal(strlen(b.outcome.failure.message),
                     sizeof b.outcome.failure.message - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_worker_is_reported),
        cmocka_unit_test(long_messages_are_cut),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
