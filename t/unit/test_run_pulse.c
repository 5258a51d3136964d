/* Which runs are running, also those that this node's kernel does not know. The clock
 * and poll() are those of this file: time passes in poll() alone. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/run_pulse.h"
#include "scratch.h"

static long waited_ms;          /* in poll() */
static void (*meanwhile)(void); /* happens in the tenth poll() */
static int n_polls;

int poll(struct pollfd *fds, nfds_t n, int ms)
{
    (void)fds;
    assert_int_equal(n, 0);
    waited_ms += ms;
    if (++n_polls == 10 && meanwhile)
        meanwhile();
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = 1000 + waited_ms / 1000,
                             .tv_nsec = waited_ms % 1000 * 1000000};
    return 0;
}

/* The lock of a holder on another host. `number`: it has touched it so often. */
static void lock_put(const char *run, int number)
{
    char path[64], text[128];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/.lock", run);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    snprintf(text, sizeof text, "host far, pid 1, since long\n%lu 1 far boot %d\n",
             (unsigned long)st.st_ino, number);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    close(fd);
}

static void touch_b(void)
{
    lock_put("b", 8);
}

static void release_b(void)
{
    assert_int_equal(unlink("b/.lock"), 0);
}

static int setup(void **state)
{
    waited_ms = 0;
    n_polls = 0;
    meanwhile = NULL;
    if (scratch_enter(state) < 0)
        return -1;
    return mkdir("a", 0777) < 0 || mkdir("b", 0777) < 0 || mkdir("c", 0777) < 0 ? -1
                                                                                : 0;
}

static char *runs[] = {(char *)"a", (char *)"b", (char *)"c"};

static void runs_without_a_lock_are_known_at_once(void **state)
{
    struct run_pulse *p = run_pulse_take(runs, 3);

    (void)state;
    assert_non_null(p);
    for (int i = 0; i < 3; i++)
        assert_false(p[i].alive);
    assert_int_equal(waited_ms, 0);
    free(p);
}

static void a_lock_of_another_host_that_is_touched_is_alive(void **state)
{
    struct run_pulse *p;

    (void)state;
    lock_put("a", 7);
    lock_put("b", 7);
    lock_put("c", 7);
    meanwhile = touch_b;
    p = run_pulse_take(runs, 3);
    assert_false(p[0].alive);
    assert_true(p[1].alive);
    assert_string_equal(p[1].sight.holder, "host far, pid 1, since long");
    assert_false(p[2].alive);
    assert_true(waited_ms < 10000); /* all of them together */
    assert_true(waited_ms > 6000);  /* two touches of a holder */
    free(p);
}

static void the_wait_ends_when_all_are_known(void **state)
{
    struct run_pulse *p;

    (void)state;
    lock_put("b", 7);
    meanwhile = touch_b;
    p = run_pulse_take(runs, 3);
    assert_true(p[1].alive);
    assert_int_equal(n_polls, 10);
    free(p);
}

static void a_run_that_ends_meanwhile_is_not_alive(void **state)
{
    struct run_pulse *p;

    (void)state;
    lock_put("b", 7);
    meanwhile = release_b;
    p = run_pulse_take(runs, 3);
    assert_false(p[1].alive);
    assert_int_equal(n_polls, 10);
    free(p);
}

/* As storage does whose locks all nodes know. */
static void a_lock_in_the_kernel_counts_at_once(void **state)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct run_pulse *p;
    int ready[2], done[2];
    pid_t pid;
    char c;

    (void)state;
    lock_put("b", 7);
    assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(done, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        int fd = open("b/.lock", O_RDWR | O_CLOEXEC);

        close(done[1]);
        if (fcntl(fd, F_SETLK, &whole) == 0 && write(ready[1], "x", 1) == 1)
            (void)!read(done[0], &c, 1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    p = run_pulse_take(runs, 3);
    assert_true(p[1].alive);
    assert_int_equal(waited_ms, 0);
    free(p);
    close(done[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(done[0]);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, scratch_leave)
        TEST(runs_without_a_lock_are_known_at_once),
        TEST(a_lock_of_another_host_that_is_touched_is_alive),
        TEST(the_wait_ends_when_all_are_known),
        TEST(a_run_that_ends_meanwhile_is_not_alive),
        TEST(a_lock_in_the_kernel_counts_at_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
