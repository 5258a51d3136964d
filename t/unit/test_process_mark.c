#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "util/child.h"
#include "util/process_mark.h"

#define SLEEP ((char *const[]){(char *)"sleep", (char *)"1000", NULL})

static char mark[64];

/* For a moment after the start the child still has the memory of this test, and then none
 * to be read. */
static bool runs_program(pid_t pid)
{
    char path[64], own[4096], its[4096];
    ssize_t n_own = readlink("/proc/self/exe", own, sizeof own), n_its;
    bool some;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    n_its = readlink(path, its, sizeof its);
    if (n_its <= 0 || (n_its == n_own && memcmp(own, its, (size_t)n_its) == 0))
        return false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    f = fopen(path, "r");
    some = f && fgetc(f) != EOF;
    if (f)
        fclose(f);
    return some;
}

static void sleeper_start(struct child *c, char *const *env)
{
    const struct child_spec spec = {
        .argv = SLEEP, .env = env, .in = -1, .out = -1, .err = -1, .own_session = true};
    struct error err;

    assert_int_equal(child_spawn(&spec, c, &err), 0);
    while (!runs_program(c->pid))
        sched_yield();
}

static bool has_ended(const struct child *c, int timeout_ms)
{
    struct pollfd end = {.fd = c->pidfd, .events = POLLIN};

    return poll(&end, 1, timeout_ms) == 1;
}

static void a_marked_process_is_killed_and_no_other(void **state)
{
    char other[80], path[] = "PATH=/usr/bin:/bin";
    struct child marked, longer, none;

    (void)state;
    snprintf(other, sizeof other, "%s-other", mark);
    sleeper_start(&marked, (char *const[]){path, mark, NULL});
    sleeper_start(&longer, (char *const[]){path, other, NULL});
    sleeper_start(&none, (char *const[]){path, NULL});
    process_mark_kill(mark);
    assert_true(has_ended(&marked, 60000));
    assert_false(has_ended(&longer, 0));
    assert_false(has_ended(&none, 0));
    child_clear(&marked);
    child_clear(&longer);
    child_clear(&none);
}

/* The environment is read in pieces of 64 KiB. */
static void a_mark_is_found_wherever_it_lies(void **state)
{
    static char before[65536 + 64];
    const size_t around = 65536;

    (void)state;
    for (size_t n = around - strlen(mark) - 4; n < around + 4; n += 3) {
        struct child c;

        memset(before, 'x', n);
        memcpy(before, "X=", 2);
        before[n] = '\0';
        sleeper_start(&c, (char *const[]){before, mark, NULL});
        process_mark_kill(mark);
        assert_true(has_ended(&c, 60000));
        child_clear(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marked_process_is_killed_and_no_other),
        cmocka_unit_test(a_mark_is_found_wherever_it_lies),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    snprintf(mark, sizeof mark, "MARK_OF_TEST=%ld", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
