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
    struct stop_request stop;
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
    assert_int_equal(stop.signal, SIGUSR1);
    stop_request_close(&stop);
    assert_int_equal(stop.fd, -1);
    stop_request_close(&stop);
}

/* How a process ends that is told to stop so late that nobody looks any more; then once
 * more, when all is as before. */
static int ends(int signal_before, int signal_after)
{
    struct stop_request stop;
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
    struct stop_request stop;

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
        cmocka_unit_test(a_late_signal_does_not_kill),
        cmocka_unit_test(an_ignored_hangup_stays_ignored),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
