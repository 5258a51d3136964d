#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/run_lock.h"
#include "scratch.h"
#include "util/fs.h"

#define SILENCE 0.3
#define LONG    60 /* a holder that touches the file is noticed long before that */
#define TOUCH   0.01

/* A process that holds the lock until it is asked to end, or is killed. */
struct other {
    pid_t pid;
    int to, from;
};

enum how { LOCKS = 0, NO_LOCKS = 1, FOREIGN = 2, TOUCHING = 4 };

static void put(const char *text)
{
    int fd = open(".lock", O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(fs_write_full(fd, text, strlen(text)), 0);
    /* Closing any descriptor of the lock releases it: only _exit does that here. */
}

static void put_foreign(void)
{
    struct stat st;
    char text[128];

    assert_int_equal(stat(".lock", &st), 0);
    snprintf(text, sizeof text, "host far, pid 1, since long\n%lu 1 far boot 7\n",
             (unsigned long)st.st_ino);
    put(text);
}

static void other_main(int to, int from, enum how how)
{
    struct run_lock *lock;
    struct error err;
    char c;

    if (run_lock_take_as(".", SILENCE, how & NO_LOCKS, NULL, &lock, &err) < 0)
        _exit(1);
    if (how & FOREIGN)
        put_foreign();
    if (write(from, "x", 1) != 1)
        _exit(1);
    if (how & TOUCHING) {
        fcntl(to, F_SETFL, O_NONBLOCK);
        while (read(to, &c, 1) < 0) {
            utimensat(AT_FDCWD, ".lock", NULL, 0);
            usleep(1000);
        }
    } else if (read(to, &c, 1) < 0) {
        _exit(1);
    }
    run_lock_release(lock);
    _exit(0);
}

static struct other other_start(enum how how)
{
    struct other o;
    int to[2], from[2];
    char c;

    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    o.pid = fork();
    if (o.pid == 0) {
        close(to[1]);
        other_main(to[0], from[1], how);
    }
    close(to[0]);
    close(from[1]);
    o.to = to[1];
    o.from = from[0];
    assert_int_equal(read(o.from, &c, 1), 1);
    return o;
}

static void other_end(struct other *o, int sig)
{
    if (sig)
        kill(o->pid, sig);
    close(o->to);
    close(o->from);
    assert_int_equal(waitpid(o->pid, NULL, 0), o->pid);
}

static int take(bool without, struct run_lock **lock, struct error *err)
{
    return run_lock_take_as(".", SILENCE, without, NULL, lock, err);
}

static char told[1024];

static void hear(const char *text)
{
    assert_string_equal(told, ""); /* once */
    snprintf(told, sizeof told, "%s", text);
}

static void a_second_holder_is_refused(void **state)
{
    (void)state;
    setenv("SLURM_JOB_ID", "4711", 1);
    for (int without = 0; without < 2; without++) {
        struct other o = other_start(without ? NO_LOCKS : LOCKS);
        struct run_lock *lock;
        struct error err;
        char pid[32];

        assert_int_equal(take(without, &lock, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
        snprintf(pid, sizeof pid, "pid %ld,", (long)o.pid);
        assert_non_null(strstr(err.text, pid));
        assert_non_null(strstr(err.text, "host "));
        assert_non_null(strstr(err.text, "job 4711"));
        assert_non_null(strstr(err.text, "since 2"));
        other_end(&o, 0);
        assert_int_equal(take(without, &lock, &err), 0);
        run_lock_release(lock);
    }
    unsetenv("SLURM_JOB_ID");
}

static void a_killed_holder_holds_nothing(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        struct other o = other_start(without ? NO_LOCKS : LOCKS);
        struct run_lock *lock;
        struct error err;

        other_end(&o, SIGKILL);
        assert_int_equal(take(without, &lock, &err), 0);
        run_lock_release(lock);
    }
}

/* The holder looks like one on another host, and the lock in the kernel stays, as some
 * servers keep that of a dead node. */
static void a_silent_holder_elsewhere_is_dead(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        struct other o = other_start(FOREIGN | (without ? NO_LOCKS : LOCKS));
        struct run_lock *lock;
        struct error err;
        struct stat before, now;

        assert_int_equal(stat(".lock", &before), 0);
        told[0] = '\0';
        assert_int_equal(run_lock_take_as(".", SILENCE, without, hear, &lock, &err), 0);
        assert_non_null(strstr(told, "host far, pid 1, since long"));
        assert_non_null(strstr(told, "whether that one lives"));
        assert_int_equal(stat(".lock", &now), 0);
        if (!without) /* the dead process has locked a file that is gone */
            assert_int_not_equal(before.st_ino, now.st_ino);
        run_lock_release(lock);
        other_end(&o, SIGKILL);
        unlink(".lock");
    }
}

static void a_holder_that_touches_it_is_alive(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        struct other o = other_start(FOREIGN | TOUCHING | (without ? NO_LOCKS : LOCKS));
        struct run_lock *lock;
        struct error err;

        assert_int_equal(run_lock_take_as(".", LONG, without, NULL, &lock, &err), -1);
        assert_non_null(strstr(err.text, "host far, pid 1, since long"));
        other_end(&o, 0);
    }
}

/* A process that holds the lock, like one on another host, and does what `end` says
 * when the file is looked at for the second time or so. */
static pid_t far_holder(bool locked, void (*end)(int fd))
{
    int from[2];
    pid_t pid;
    char c;

    assert_int_equal(pipe(from), 0);
    pid = fork();
    if (pid == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        struct run_lock *lock;
        struct stat st;
        int fd;

        if (run_lock_take_as(".", SILENCE, true, NULL, &lock, NULL) < 0)
            _exit(1);
        fd = open(".lock", O_RDWR);
        if (locked && fcntl(fd, F_SETLK, &whole) < 0)
            _exit(1);
        if (fstat(fd, &st) < 0 ||
            dprintf(fd, "host far, pid 1, since long\n%lu 1 far boot 7\n",
                    (unsigned long)st.st_ino) < 0 ||
            write(from[1], "x", 1) != 1)
            _exit(1);
        usleep(200000); /* the other process is watching by now, or comes later */
        end(fd);
        _exit(0);
    }
    assert_int_equal(read(from[0], &c, 1), 1);
    close(from[0]);
    close(from[1]);
    return pid;
}

static void blank_and_go(int fd)
{
    char blank[512];

    memset(blank, '\n', sizeof blank);
    if (pwrite(fd, blank, sizeof blank, 0) < 0)
        _exit(1);
    usleep(50000); /* between writing the file and locking it */
}

static void truncate_and_go(int fd)
{
    if (ftruncate(fd, 0) < 0)
        _exit(1);
    usleep(50000);
}

static void die(int fd)
{
    (void)fd;
}

/* The storage keeps changed time stamps on the node that makes the change. */
static void count_up(int fd)
{
    static const struct timespec epoch[2] = {{1, 0}, {1, 0}};

    for (int i = 0; i < 40; i++) {
        char count[8];

        snprintf(count, sizeof count, "%7d", i);
        if (pwrite(fd, count, 7, 480) < 0 || futimens(fd, epoch) < 0)
            _exit(1);
        usleep(10000);
    }
}

static void the_lock_of_a_holder_that_ends_is_taken(void **state)
{
    void (*const ends[])(int fd) = {blank_and_go, truncate_and_go, die};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pid_t pid = far_holder(true, ends[i]);
        struct run_lock *lock;
        struct error err;

        /* A dead process has left its name: that is watched, too. */
        if (run_lock_take_as(".", ends[i] == die ? 0.5 : LONG, false, NULL, &lock,
                             &err) < 0)
            fail_msg("%s", err.text);
        run_lock_release(lock);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        unlink(".lock");
    }
}

/* Storage may grant a lock to each node. Of a holder on another node only the counter
 * is visible. */
static void a_lock_of_this_node_alone_is_not_enough(void **state)
{
    pid_t pid = far_holder(false, count_up);
    struct run_lock *lock;
    struct error err;

    (void)state;
    assert_int_equal(run_lock_take_as(".", LONG, false, NULL, &lock, &err), -1);
    assert_non_null(strstr(err.text, "host far, pid 1, since long"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(take(false, &lock, &err), 0); /* it is silent now */
    run_lock_release(lock);
}

/* Another node may keep seeing the size that it saw first. */
static void the_file_has_a_fixed_size(void **state)
{
    struct run_lock *lock;
    struct error err;
    struct stat st;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(take(false, &lock, &err), 0);
        assert_int_equal(run_lock_keep_as(lock, TOUCH, &err), 0);
        assert_int_equal(stat(".lock", &st), 0);
        assert_int_equal(st.st_size, 512);
        run_lock_release(lock);
        assert_int_equal(stat(".lock", &st), 0);
        assert_int_equal(st.st_size, 512);
    }
    assert_int_equal(scratch_count("."), 1);
}

/* The file in a copy of a run names a live process, and its lock is that of another
 * file. */
static void the_lock_in_a_copy_has_no_holder(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        struct other o = other_start(without ? NO_LOCKS : LOCKS);
        struct run_lock *lock;
        struct error err;
        char text[512] = "";
        int fd = open(".lock", O_RDONLY);

        assert_true(read(fd, text, sizeof text - 1) > 0);
        close(fd);
        assert_int_equal(rename(".lock", "original"), 0);
        put(text);
        assert_int_equal(run_lock_take_as(".", SILENCE, without, hear, &lock, &err), 0);
        run_lock_release(lock);
        other_end(&o, 0);
        unlink(".lock");
    }
}

static void hostile_contents_are_refused(void **state)
{
    static const char *const texts[] = {
        "\033[31m\001\377\n1 x\n",      "\n\n\n",        "no end",
        "a\n99999999999999999999999 x", "a\n-1 x y 1\n", "%s%n\n%s%n\n"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int without = 0; without < 2; without++) {
            struct run_lock *lock;
            struct error err;
            char holder[256];
            int fd;

            fd = open(".lock", O_WRONLY | O_CREAT | O_TRUNC, 0600);
            assert_int_equal(fs_write_full(fd, texts[i], strlen(texts[i])), 0);
            close(fd);
            assert_false(run_lock_is_held(".", holder));
            assert_int_equal(take(without, &lock, &err), 0);
            run_lock_release(lock);
        }
    }
}

static void the_description_of_the_holder_is_printable(void **state)
{
    struct other o = other_start(LOCKS);
    struct error err;
    struct run_lock *lock;
    char holder[256];
    int fd = open(".lock", O_WRONLY | O_TRUNC);

    (void)state;
    assert_int_equal(fs_write_full(fd, "\033[31m\r\377 who\n", 12), 0);
    close(fd);
    assert_true(run_lock_is_held(".", holder));
    assert_null(strpbrk(holder, "\033\r\n\377"));
    assert_non_null(strstr(holder, "who"));
    /* Silent, and its holder is unknown: it is taken over. */
    assert_int_equal(take(false, &lock, &err), 0);
    run_lock_release(lock);
    other_end(&o, 0);
}

/* The signals that stop a run, blocked. */
static sigset_t stops_block(sigset_t *before)
{
    sigset_t both;

    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    assert_int_equal(sigprocmask(SIG_BLOCK, &both, before), 0);
    return both;
}

/* Until the file has been touched once more. */
static void touch_await(const char *file)
{
    struct stat first, now;

    assert_int_equal(stat(file, &first), 0);
    do {
        usleep(1000);
        assert_int_equal(stat(file, &now), 0);
    } while (now.st_mtim.tv_sec == first.st_mtim.tv_sec &&
             now.st_mtim.tv_nsec == first.st_mtim.tv_nsec);
}

/* If the storage fails for a moment, the lock is not lost; if it reports that the file
 * is gone, it is. */
static void an_error_does_not_lose_the_lock(void **state)
{
    struct run_lock *lock;
    struct error err;
    sigset_t before, both = stops_block(&before), pending;
    int sig;

    (void)state;
    assert_int_equal(mkdir("run", 0700), 0);
    assert_int_equal(run_lock_take("run", NULL, &lock, &err), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(symlink("loop", "other"), 0);
    assert_int_equal(run_lock_keep_as(lock, TOUCH, &err), 0);
    assert_int_equal(renameat2(AT_FDCWD, "run", AT_FDCWD, "other", RENAME_EXCHANGE), 0);
    for (int i = 0; i < 3; i++)
        touch_await("other/.lock");
    assert_int_equal(sigpending(&pending), 0);
    assert_false(sigismember(&pending, SIGTERM));
    assert_int_equal(unlink("run"), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sigwait(&both, &sig), 0);
    run_lock_release(lock);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static void a_lost_lock_stops_the_process(void **state)
{
    struct run_lock *lock, *thief;
    struct error err;
    sigset_t before, both = stops_block(&before);
    int sig;

    (void)state;
    assert_int_equal(take(true, &lock, &err), 0);
    assert_int_equal(run_lock_keep_as(lock, TOUCH, &err), 0);
    assert_int_equal(run_lock_check(lock, &err), 0);
    assert_int_equal(run_lock_check(NULL, &err), 0);
    assert_int_equal(unlink(".lock"), 0);
    assert_int_equal(run_lock_check(lock, &err), -1);
    assert_non_null(strstr(err.text, "moved or removed"));
    assert_int_equal(take(true, &thief, &err), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sigwait(&both, &sig), 0);
    assert_int_equal(run_lock_check(lock, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "taken over"));
    assert_non_null(strstr(err.text, ", since "));
    assert_int_equal(run_lock_check(thief, &err), 0);
    run_lock_release(lock);
    run_lock_release(thief);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

/* In a child of the holder, which dies: inherit the lock, and hold it. */
static _Noreturn void heir_main(int fd, pid_t holder, int to, int from)
{
    struct run_lock *lock;
    char c;

    while (getppid() == holder)
        usleep(1000);
    c = run_lock_inherit(".", fd, (long)holder, &lock, NULL) == 0 ? 'x' : '-';
    if (write(from, &c, 1) != 1 || read(to, &c, 1) < 0)
        _exit(1);
    if (c == 'x')
        run_lock_release(lock);
    _exit(0);
}

static _Noreturn void testator_main(int to, int from)
{
    struct run_lock *lock;
    pid_t holder = getpid();
    int fd;

    if (run_lock_take_as(".", SILENCE, false, NULL, &lock, NULL) < 0)
        _exit(1);
    fd = fcntl(run_lock_descriptor(lock), F_DUPFD, 0);
    if (fork() == 0)
        heir_main(fd, holder, to, from);
    _exit(0);
}

static void a_lock_is_inherited_without_a_gap(void **state)
{
    struct run_lock *lock;
    struct error err;
    int to[2], from[2];
    char c;

    (void)state;
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    if (fork() == 0) {
        close(to[1]);
        testator_main(to[0], from[1]);
    }
    close(to[0]);
    assert_true(wait(NULL) > 0);
    assert_int_equal(take(false, &lock, &err), -1); /* whichever of them is named */
    assert_int_equal(read(from[0], &c, 1), 1);
    assert_int_equal(c, 'x');
    assert_int_equal(take(false, &lock, &err), -1);
    assert_non_null(strstr(err.text, "for workers that still finish"));
    close(to[1]);
    close(from[1]);
    assert_int_equal(read(from[0], &c, 1), 0); /* the heir has ended */
    close(from[0]);
    assert_int_equal(take(false, &lock, &err), 0);
    run_lock_release(lock);
}

/* It was taken over by another process meanwhile, as if the kernel had no locks. */
static void a_lock_of_another_process_is_not_inherited(void **state)
{
    struct run_lock *lock, *heirs;
    struct error err;
    int fd;

    (void)state;
    assert_int_equal(take(false, &lock, &err), 0);
    fd = fcntl(run_lock_descriptor(lock), F_DUPFD, 0);
    assert_int_equal(run_lock_inherit(".", fd, (long)getpid() + 1, &heirs, &err), -1);
    assert_non_null(strstr(err.text, "is in use by another"));
    fd = fcntl(run_lock_descriptor(lock), F_DUPFD, 0);
    assert_int_equal(unlink(".lock"), 0);
    put("");
    assert_int_equal(run_lock_inherit(".", fd, (long)getpid(), &heirs, &err), -1);
    assert_int_equal(run_lock_inherit(".", -1, (long)getpid(), &heirs, &err), -1);
    run_lock_release(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_second_holder_is_refused),
        SCRATCH(a_killed_holder_holds_nothing),
        SCRATCH(a_silent_holder_elsewhere_is_dead),
        SCRATCH(a_holder_that_touches_it_is_alive),
        SCRATCH(the_lock_of_a_holder_that_ends_is_taken),
        SCRATCH(a_lock_of_this_node_alone_is_not_enough),
        SCRATCH(the_file_has_a_fixed_size),
        SCRATCH(the_lock_in_a_copy_has_no_holder),
        SCRATCH(hostile_contents_are_refused),
        SCRATCH(the_description_of_the_holder_is_printable),
        SCRATCH(an_error_does_not_lose_the_lock),
        SCRATCH(a_lost_lock_stops_the_process),
        SCRATCH(a_lock_is_inherited_without_a_gap),
        SCRATCH(a_lock_of_another_process_is_not_inherited),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
