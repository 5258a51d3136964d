#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/stop_request.h"

static void signals_are_counted_and_the_first_is_named(void **state)
{
    struct stop_request stop = STOP_REQUEST_INIT;
    struct pollfd p = {.events = POLLIN};

    (void)state;
    assert_int_equal(stop_request_open(&stop, NULL), 0);
    assert_int_equal(stop_request_read(&stop), 0);
    p.fd = stop.fd;
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(poll(&p, 1, 0), 1);
    assert_int_equal(stop_request_read(&stop), 1);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(stop_request_read(&stop), 1);
    assert_int_equal(stop.count, 2);
    assert_int_equal(stop.latest, SIGTERM);
    assert_int_equal(stop.signal, SIGUSR1);
    stop_request_close(&stop);
    assert_int_equal(stop.fd, -1);
    stop_request_close(&stop);
}

struct signalled {
    int sig;
    double at; /* seconds after the first one */
};

/* Do these signals mean now? */
static bool hurry(bool in_job, const struct signalled *signals)
{
    struct stop_request stop = STOP_REQUEST_INIT;

    stop.in_job = in_job;
    for (const struct signalled *s = signals; s->sig; s++) {
        assert_false(stop.hurried);
        stop_request_take(&stop, s->sig, 100 + s->at);
    }
    return stop.hurried;
}

#define SIGNALS(...)                                                                   \
    (const struct signalled[])                                                         \
    {                                                                                  \
        __VA_ARGS__,                                                                   \
        {                                                                              \
            0, 0                                                                       \
        }                                                                              \
    }

static void a_second_interrupt_hurries(void **state)
{
    (void)state;
    for (int in_job = 0; in_job <= 1; in_job++) {
        assert_false(hurry(in_job, SIGNALS({SIGINT, 0})));
        assert_true(hurry(in_job, SIGNALS({SIGINT, 0}, {SIGINT, 0})));
        assert_true(hurry(in_job, SIGNALS({SIGTERM, 0}, {SIGINT, 1}, {SIGINT, 9})));
    }
}

/* A script that forwards what its whole group got; a warning and then the end. */
static void one_request_may_come_as_several_signals(void **state)
{
    (void)state;
    for (int in_job = 0; in_job <= 1; in_job++) {
        assert_false(hurry(in_job, SIGNALS({SIGTERM, 0}, {SIGTERM, 0.002})));
        assert_false(hurry(in_job, SIGNALS({SIGUSR1, 0}, {SIGTERM, 60})));
        assert_false(hurry(in_job, SIGNALS({SIGUSR1, 0}, {SIGUSR1, 9}, {SIGUSR1, 99})));
        assert_false(hurry(in_job, SIGNALS({SIGTERM, 0}, {SIGHUP, 3}, {SIGINT, 9})));
    }
}

static void a_later_sigterm_hurries_outside_of_jobs(void **state)
{
    (void)state;
    assert_true(hurry(false, SIGNALS({SIGTERM, 0}, {SIGTERM, 2.1})));
    assert_true(hurry(false, SIGNALS({SIGTERM, 0}, {SIGTERM, 1}, {SIGTERM, 9})));
    assert_false(hurry(true, SIGNALS({SIGTERM, 0}, {SIGTERM, 2.1}, {SIGTERM, 99})));
}

/* How a process ends that is asked to stop when it no longer looks for requests; then
 * once more, when all is as before. */
static int ends(int signal_before, int signal_after)
{
    struct stop_request stop = STOP_REQUEST_INIT;
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (stop_request_open(&stop, NULL) < 0)
            _exit(1);
        raise(signal_before);
        stop_request_close(&stop);
        if (signal_after)
            raise(signal_after);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void a_late_signal_does_not_kill(void **state)
{
    (void)state;
    assert_int_equal(ends(SIGTERM, 0), 0);
    assert_int_equal(ends(SIGINT, 0), 0);
    assert_int_equal(ends(SIGINT, SIGTERM), SIGTERM);
}

static void an_ignored_hangup_stays_ignored(void **state)
{
    struct stop_request stop = STOP_REQUEST_INIT;

    (void)state;
    signal(SIGHUP, SIG_IGN);
    assert_int_equal(stop_request_open(&stop, NULL), 0);
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(stop_request_read(&stop), 0);
    stop_request_close(&stop);
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(stop_request_open(&stop, NULL), 0);
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(stop_request_read(&stop), 1);
    stop_request_close(&stop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_are_counted_and_the_first_is_named),
        cmocka_unit_test(a_second_interrupt_hurries),
        cmocka_unit_test(one_request_may_come_as_several_signals),
        cmocka_unit_test(a_later_sigterm_hurries_outside_of_jobs),
        cmocka_unit_test(a_late_signal_does_not_kill),
        cmocka_unit_test(an_ignored_hangup_stays_ignored),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
