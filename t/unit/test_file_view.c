/* test_file_view.c - files as memory that they may lose, and copies past the caches. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/file_view.h"
#include "data/stream_copy.h"
#include "util/fs.h"

#include "scratch.h"

#define SIZE ((size_t)1000 * 1000) /* its end is inside a page */

static unsigned char bytes[SIZE], copy[SIZE];

static int file_make(void)
{
    int fd = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * i / 7 + 1);
    assert_int_equal(fs_pwrite_full(fd, bytes, SIZE, 0), 0);
    return fd;
}

/* NULL on file systems that are not viewed: then the test says so. */
static struct file_view *view_make(int fd)
{
    struct file_view *v = file_view_create(fd, SIZE);

    if (!v) {
        close(fd);
        skip();
    }
    return v;
}

struct job {
    size_t n, begun;
};

static void work(void *arg, const unsigned char *from)
{
    struct job *job = arg;

    job->begun++;
    memcpy(copy, from, job->n);
}

static bool use(struct file_view *v, uint64_t offset, size_t n)
{
    struct job job = {.n = n};

    memset(copy, 0, sizeof copy);
    if (!file_view_use(v, offset, n, work, &job))
        return false;
    assert_memory_equal(copy, bytes + offset, n);
    return true;
}

static void any_bytes_of_a_file_can_be_used(void **state)
{
    int fd = file_make();
    struct file_view *v = view_make(fd);

    (void)state;
    assert_true(use(v, 0, SIZE));
    assert_true(use(v, SIZE - 1, 1));
    for (size_t at = 0; at + 5000 < SIZE; at += 4567)
        assert_true(use(v, at, 4999));
    file_view_destroy(v);
    close(fd);
}

static void bytes_that_a_file_has_lost_are_no_signal(void **state)
{
    static const size_t LEFT[] = {0, 4096, SIZE - 8192, SIZE - 1};

    (void)state;
    for (size_t i = 0; i < sizeof LEFT / sizeof *LEFT; i++)
        for (int used = 0; used < 2; used++) {
            int fd = file_make();
            struct file_view *v = view_make(fd);

            assert_true(!used || use(v, 0, SIZE));
            assert_int_equal(ftruncate(fd, (off_t)LEFT[i]), 0);
            assert_false(use(v, 0, SIZE));
            assert_false(use(v, SIZE - 100, 100));
            assert_true(LEFT[i] == 0 || use(v, 0, LEFT[i]));
            assert_int_equal(fs_pwrite_full(fd, bytes, SIZE, 0), 0);
            assert_true(use(v, 0, SIZE));
            file_view_destroy(v);
            close(fd);
        }
}

/* As in the thread that reads ahead. */
static void a_blocked_signal_does_not_end_the_process(void **state)
{
    int fd = file_make();
    struct file_view *v = view_make(fd);
    sigset_t all, before;

    (void)state;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(use(v, 0, SIZE));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    file_view_destroy(v);
    close(fd);
}

static void handler_of_test(int signo)
{
    _exit(signo == SIGBUS ? 7 : 8);
}

static void handler_of_other(int signo, siginfo_t *info, void *context)
{
    (void)context;
    _exit(signo == SIGBUS && info->si_code > 0 ? 9 : 10);
}

/* How a child with a view ends that touches memory which another file has lost. */
static int child_status(const struct sigaction *handler, bool forked_before)
{
    int fd = file_make(), status;
    struct file_view *v;
    unsigned char *other;
    pid_t pid;

    assert_int_equal(sigaction(SIGBUS, handler, NULL), 0);
    v = file_view_create(fd, SIZE);
    pid = forked_before && v ? fork() : 0;
    if (!forked_before && (pid = fork()) == 0) {
        file_view_destroy(v);
        v = file_view_create(fd, SIZE);
    }
    if (pid == 0) {
        alarm(60); /* an access that is tried again and again does not end */
        other = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
        assert_int_equal(ftruncate(fd, 0), 0);
        _exit(*(volatile unsigned char *)other);
    }
    waitpid(pid, &status, 0);
    file_view_destroy(v);
    close(fd);
    return status;
}

static void other_signals_go_to_the_handler_before(void **state)
{
    const struct sigaction none = {.sa_handler = SIG_DFL};
    const struct sigaction simple = {.sa_handler = handler_of_test};
    const struct sigaction full = {.sa_sigaction = handler_of_other,
                                   .sa_flags = SA_SIGINFO};
    struct sigaction now;
    int status;

    (void)state;
    file_view_destroy(view_make(file_make()));
    status = child_status(&none, false);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = child_status(&simple, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    status = child_status(&full, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    status = child_status(&simple, true);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    assert_int_equal(sigaction(SIGBUS, &none, &now), 0);
    assert_true(now.sa_handler == handler_of_test); /* it was put back */
}

/* Without our handler, nothing is touched. */
static void a_program_that_handles_the_signal_itself_has_no_views(void **state)
{
    int fd = file_make();
    struct file_view *v = view_make(fd);
    struct sigaction now;
    struct job job = {.n = SIZE};

    (void)state;
    signal(SIGBUS, handler_of_test);
    assert_false(file_view_use(v, 0, SIZE, work, &job));
    assert_int_equal(job.begun, 0);
    file_view_destroy(v);
    assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
    assert_true(now.sa_handler == handler_of_test);
    signal(SIGBUS, SIG_DFL);
    close(fd);
}

static void files_that_cannot_be_mapped_have_no_view(void **state)
{
    int fds[2], fd = file_make();

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_null(file_view_create(fds[0], 100));
    assert_null(file_view_create(fd, 0));
    assert_null(file_view_create(fd, UINT64_MAX));
    file_view_destroy(NULL);
    close(fds[0]);
    close(fds[1]);
    close(fd);
}

static void copies_are_those_of_memcpy(void **state)
{
    (void)state;
    close(file_make()); /* fills `bytes` */
    for (size_t to = 0; to < 66; to++)
        for (size_t n = 0; n < 300; n++) {
            memset(copy, 0, 500);
            stream_copy(copy + to, bytes + n % 19, n);
            stream_end();
            assert_memory_equal(copy + to, bytes + n % 19, n);
            assert_true((to == 0 || copy[to - 1] == 0) && copy[to + n] == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(any_bytes_of_a_file_can_be_used),
        SCRATCH(bytes_that_a_file_has_lost_are_no_signal),
        SCRATCH(a_blocked_signal_does_not_end_the_process),
        SCRATCH(other_signals_go_to_the_handler_before),
        SCRATCH(a_program_that_handles_the_signal_itself_has_no_views),
        SCRATCH(files_that_cannot_be_mapped_have_no_view),
        SCRATCH(copies_are_those_of_memcpy),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
