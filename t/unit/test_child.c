#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "util/child.h"
#include "util/descriptors.h"
#include "util/process.h"

#define SH(script)                                                                     \
    ((char *const[]){(char *)"/bin/sh", (char *)"-c", (char *)script, NULL})

static struct child_spec plain(char *const *argv)
{
    return (struct child_spec){.argv = argv, .in = -1, .out = -1, .err = -1};
}

static int run(const struct child_spec *spec)
{
    struct child c;
    struct error err;
    int status;

    assert_int_equal(child_spawn(spec, &c, &err), 0);
    assert_int_equal(child_wait(&c, &status, &err), 0);
    assert_int_equal(c.pid, 0);
    assert_int_equal(c.pidfd, -1);
    return status;
}

/* Everything up to the end of the pipe. */
static size_t slurp(int fd, char *buf, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while (n + 1 < size && (got = read(fd, buf + n, size - 1 - n)) > 0)
        n += (size_t)got;
    buf[n] = '\0';
    return n;
}

static void exit_statuses_and_signals_are_returned(void **state)
{
    struct child_spec spec = plain(SH("exit 3"));

    (void)state;
    assert_int_equal(WEXITSTATUS(run(&spec)), 3);
    spec.argv = SH("kill -SEGV $$");
    assert_int_equal(WTERMSIG(run(&spec)), SIGSEGV);
}

static void a_missing_program_is_an_error(void **state)
{
    struct child c;
    struct error err;
    struct child_spec spec = plain((char *const[]){(char *)"/no/such", NULL});

    (void)state;
    assert_int_equal(child_spawn(&spec, &c, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "/no/such"));
    assert_int_equal(c.pid, 0);
    spec.argv = (char *const[]){(char *)"/etc/passwd", NULL};
    assert_int_equal(child_spawn(&spec, &c, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    /* and neither is left as a zombie */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void environment_directory_and_output_are_set(void **state)
{
    int fds[2];
    char text[256];
    struct child_spec spec = plain(SH("echo $WORD $(pwd); echo oops >&2; cat"));

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    spec.env = (char *const[]){(char *)"WORD=x y", (char *)"PATH=/usr/bin:/bin", NULL};
    spec.dir = "/";
    spec.out = fds[1];
    spec.err = fds[1];
    assert_int_equal(run(&spec), 0);
    close(fds[1]);
    slurp(fds[0], text, sizeof text);
    assert_string_equal(text, "x y /\noops\n");
    close(fds[0]);
}

/* Our 0 is its output, and our 1 its input: each is moved before it is overwritten. */
static void crossed_descriptors_are_sorted_out(void **state)
{
    int fds[2], saved[2];
    char text[64];
    struct child_spec spec = plain(SH("echo here"));

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    saved[0] = dup(0);
    saved[1] = dup(1);
    dup2(fds[1], 0);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 1);
    spec.in = 1;
    spec.out = 0;
    assert_int_equal(run(&spec), 0);
    dup2(saved[0], 0);
    dup2(saved[1], 1);
    close(fds[1]);
    slurp(fds[0], text, sizeof text);
    assert_string_equal(text, "here\n");
}

static void no_other_descriptor_is_inherited(void **state)
{
    int fds[2], stray = open("/dev/null", O_RDONLY);
    char text[256];
    /* the C library reserves signals 32 and 33, ignored or not */
    struct child_spec spec =
        plain(SH("ls -1 /proc/$$/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status |"
                 " while read word bits; do echo $((0x$bits & 0x7fffffff)); done"));
    sigset_t usr1;

    (void)state;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    spec.out = fds[1];
    assert_int_equal(run(&spec), 0);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
    close(fds[1]);
    slurp(fds[0], text, sizeof text);
    assert_string_equal(text, "0\n1\n2\n0\n0\n");
    close(fds[0]);
    close(stray);
}

static void reap_does_not_block(void **state)
{
    int fds[2], status;
    bool gone;
    struct child c;
    struct error err;
    struct child_spec spec = plain(SH("read x; exit 5"));
    struct pollfd pfd = {.events = POLLIN};

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    spec.in = fds[0];
    assert_int_equal(child_spawn(&spec, &c, &err), 0);
    assert_int_equal(child_reap(&c, &gone, &status, &err), 0);
    assert_false(gone);
    close(fds[1]);
    close(fds[0]);
    pfd.fd = c.pidfd;
    assert_int_equal(poll(&pfd, 1, 10000), 1);
    assert_int_equal(child_reap(&c, &gone, &status, &err), 0);
    assert_true(gone);
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_int_equal(child_signal(&c, SIGTERM, &err), 0); /* no process: no error */
}

/* A grandchild holds the pipe: its end ends the read. */
static void a_group_ends_with_its_leader(void **state)
{
    int fds[2];
    char text[64];
    struct child_spec spec = plain(SH("sleep 1000 & echo $!"));

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    spec.out = fds[1];
    spec.own_session = true;
    assert_int_equal(run(&spec), 0);
    close(fds[1]);
    assert_true(slurp(fds[0], text, sizeof text) > 0);
    close(fds[0]);
}

static void clear_kills_a_running_child(void **state)
{
    int fds[2];
    char text[64];
    struct child c;
    struct error err;
    struct child_spec spec = plain(SH("trap '' TERM; sleep 1000 & wait"));

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    spec.out = fds[1];
    spec.own_session = true;
    assert_int_equal(child_spawn(&spec, &c, &err), 0);
    close(fds[1]);
    assert_int_equal(getsid(c.pid), c.pid);
    child_clear(&c);
    child_clear(&c);
    assert_int_equal(slurp(fds[0], text, sizeof text), 0);
    close(fds[0]);
}

static void a_child_dies_with_its_parent(void **state)
{
    int fds[2], status;
    char text[64];
    pid_t pid;
    struct child c;
    struct child_spec spec = plain(SH("exec sleep 1000"));

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    spec.out = fds[1];
    spec.die_with_parent = true;
    pid = fork();
    if (pid == 0)
        _exit(child_spawn(&spec, &c, NULL) == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fds[1]);
    assert_int_equal(slurp(fds[0], text, sizeof text), 0);
    close(fds[0]);
}

/* Another process's child: the end of a grandchild is noticed, too, and only its
 * end. */
/* The parent waits for what the child does before it executes the program. */
static void a_program_that_cannot_be_announced_is_not_started(void **state)
{
    struct child_spec spec = plain(SH("exit 0"));
    struct child c;
    struct error err;
    int ends[2];
    pid_t self = getpid();

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    spec.announce = ends[0];
    assert_int_equal(WEXITSTATUS(run(&spec)), 0);
    while (send(ends[0], &self, sizeof self, MSG_DONTWAIT) > 0)
        continue;
    assert_int_equal(child_spawn(&spec, &c, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOMEM);
    close(ends[0]);
    close(ends[1]);
}

static void a_child_that_does_not_die_is_not_waited_for(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0)
        for (;;)
            pause();
    assert_false(process_reap(pid, 0.01, &status));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(process_reap(pid, 60, &status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_true(process_reap(pid, 60, &status));
}

static void any_process_can_be_watched(void **state)
{
    int up[2], go[2];
    struct child_spec spec = plain(SH("exec 3<&0; (read x <&3) & echo $!; wait"));
    struct process grandchild;
    struct child c;
    struct error err;
    char text[64] = "";

    (void)state;
    assert_int_equal(pipe2(up, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    spec.in = go[0];
    spec.out = up[1];
    assert_int_equal(child_spawn(&spec, &c, &err), 0);
    assert_true(read(up[0], text, sizeof text - 1) > 0);
    assert_int_equal(process_open(atoi(text), &grandchild), 0);
    assert_false(process_wait(&grandchild, 50));
    close(go[0]);
    close(go[1]);
    assert_true(process_wait(&grandchild, -1));
    process_close(&grandchild);
    assert_int_equal(child_wait(&c, NULL, &err), 0);
    assert_int_equal(process_open(atoi(text), &grandchild), -1);
    assert_int_equal(errno, ESRCH);
    close(up[0]);
    close(up[1]);
}

static void ranges_of_descriptors_are_closed(void **state)
{
    int first = open("/dev/null", O_RDONLY), fds[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        fds[i] = dup(first);
    assert_int_equal(descriptors_close(fds[2], fds[5]), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(fcntl(fds[i], F_GETFD) < 0, i >= 2 && i <= 5);
    assert_int_equal(descriptors_cloexec(fds[6]), 0);
    assert_int_equal(fcntl(fds[0], F_GETFD), 0);
    assert_int_equal(fcntl(fds[6], F_GETFD), FD_CLOEXEC);
    assert_int_equal(descriptors_close(fds[5], fds[4]), 0); /* none */
    assert_int_equal(descriptors_close(first, -1), 0);
    assert_true(fcntl(first, F_GETFD) < 0 && fcntl(fds[7], F_GETFD) < 0);
}

/* Older kernels: system calls that they lack fail. */
static int without_pidfd(void **state)
{
    (void)state;
    return setenv("RAYTRAIN_FAULT", "os.pidfd:all:enosys", 1);
}

static int without_close_range(void **state)
{
    (void)state;
    return setenv("RAYTRAIN_FAULT", "os.close_range:all:enosys", 1);
}

static int with_all(void **state)
{
    (void)state;
    return unsetenv("RAYTRAIN_FAULT");
}

static void a_process_that_waits_for_a_cpu_is_runnable(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        for (;;)
            continue;
    assert_true(pid > 0);
    assert_true(process_is_runnable(pid));
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    assert_false(process_is_runnable(pid));
    assert_true(process_is_stopped(pid));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(process_is_runnable(pid));
}

#define WITHOUT(what, test)                                                            \
    {                                                                                  \
#test ", without " #what, test, without_##what, with_all, NULL                 \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_statuses_and_signals_are_returned),
        cmocka_unit_test(a_missing_program_is_an_error),
        cmocka_unit_test(environment_directory_and_output_are_set),
        cmocka_unit_test(crossed_descriptors_are_sorted_out),
        cmocka_unit_test(no_other_descriptor_is_inherited),
        cmocka_unit_test(reap_does_not_block),
        cmocka_unit_test(a_group_ends_with_its_leader),
        cmocka_unit_test(clear_kills_a_running_child),
        cmocka_unit_test(a_child_dies_with_its_parent),
        cmocka_unit_test(a_program_that_cannot_be_announced_is_not_started),
        cmocka_unit_test(a_child_that_does_not_die_is_not_waited_for),
        cmocka_unit_test(any_process_can_be_watched),
        cmocka_unit_test(ranges_of_descriptors_are_closed),
        cmocka_unit_test(a_process_that_waits_for_a_cpu_is_runnable),
#ifdef RAYTRAIN_FAULTS
        WITHOUT(pidfd, exit_statuses_and_signals_are_returned),
        WITHOUT(pidfd, a_missing_program_is_an_error),
        WITHOUT(pidfd, no_other_descriptor_is_inherited),
        WITHOUT(pidfd, reap_does_not_block),
        WITHOUT(pidfd, a_group_ends_with_its_leader),
        WITHOUT(pidfd, clear_kills_a_running_child),
        WITHOUT(pidfd, any_process_can_be_watched),
        WITHOUT(close_range, no_other_descriptor_is_inherited),
        WITHOUT(close_range, ranges_of_descriptors_are_closed),
#endif
    };

    signal(SIGHUP, SIG_DFL); /* children inherit the setting of nohup */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
