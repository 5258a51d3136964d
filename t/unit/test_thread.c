#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/thread.h"

static void *mask_get(void *arg)
{
    pthread_sigmask(SIG_BLOCK, NULL, arg);
    return NULL;
}

/* Faults are not blocked: then the system would end the process without a handler. */
static void faults_of_a_thread_reach_their_handler(void **state)
{
    sigset_t mask, before, after;
    struct error err;
    pthread_t thread;

    (void)state;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(thread_start(&thread, mask_get, &mask, &err), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int signo = 1; signo < SIGRTMIN; signo++)
        assert_int_equal(sigismember(&after, signo), sigismember(&before, signo));
    assert_true(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGINT) &&
                sigismember(&mask, SIGCHLD) && sigismember(&mask, SIGURG));
    assert_false(sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGBUS) ||
                 sigismember(&mask, SIGFPE) || sigismember(&mask, SIGILL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_a_thread_reach_their_handler),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
