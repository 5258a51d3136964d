#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "util/fs.h"
#include "util/fs_advice.h"
#include "util/quote.h"
#include "util/run_record.h"

/* Instead of that of libc: counts the call, and makes it. */
static int n_synced;

int fsync(int fd)
{
    n_synced++;
    return (int)syscall(SYS_fsync, fd);
}

static void sleep_on(void)
{
    for (;;)
        pause();
}

/* A temporary name with one field replaced, counted from its mark: the pid, the random
 * number, the place, the birth. */
static char *with_field(const char *name, int field, const char *value)
{
    const char *at = strstr(name, ".tmp-") + strlen(".tmp-");
    char *changed;

    for (int i = 0; i < field; i++)
        at = strchr(at, '-') + 1;
    assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - name), name, value,
                         at + strcspn(at, "-")) > 0);
    return changed;
}

static void check_left(char *name, bool left)
{
    if (fs_temp_is_left(name) != left)
        fail_msg("%s", name);
    free(name);
}

static void temporaries_of_living_processes_are_not_left(void **state)
{
    char *own = fs_temp_name("base"), other[256] = "";
    int from[2], ignored;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(from), 0);
    child = fork();
    if (child == 0) {
        char *name = fs_temp_name("base");

        if (write(from[1], name, strlen(name) + 1) < 0)
            _exit(1);
        sleep_on();
    }
    assert_true(read(from[0], other, sizeof other - 1) > 0);
    close(from[0]);
    close(from[1]);
    check_left(strdup(own), false);
    check_left(strdup(other), false);
    /* The pid of a live process, but of another one. */
    check_left(with_field(other, 3, "1"), true);
    check_left(with_field(own, 3, "1"), true);
    check_left(with_field(own, 3, "0"), false); /* without /proc: not known */
    /* On another host, or in a container: pids there mean nothing here. */
    check_left(with_field(own, 2, "00000000"), true);
    check_left(strdup("base.tmp-1-00000000"), false);
    check_left(strdup(".base.tmp-x"), false);
    kill(child, SIGKILL);
    check_left(strdup(".base.tmp-1-00000000"), true);
    assert_int_equal(waitpid(child, &ignored, 0), child);
    check_left(strdup(other), true);
    free(own);
}

static int names_in(const char *path)
{
    DIR *d = opendir(path);
    int n = -2; /* . and .. */

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void what_is_written_is_read(void **state)
{
    struct error err;
    struct stat st;
    char *data;
    size_t n;

    (void)state;
    assert_int_equal(fs_write_atomic("f", "a\0b", 3, 0640, &err), 0);
    assert_int_equal(fs_read("f", &data, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_memory_equal(data, "a\0b", 4);
    free(data);
    assert_int_equal(stat("f", &st), 0);
    assert_int_equal(st.st_mode & 0027, 0);

    assert_int_equal(fs_write_atomic("f", "", 0, 0600, &err), 0);
    assert_int_equal(fs_read("f", &data, NULL, &err), 0);
    assert_string_equal(data, "");
    free(data);
    assert_int_equal(names_in("."), 1);
}

static void a_failed_write_keeps_the_old_file(void **state)
{
    struct rlimit before, small;
    static char big[8192];
    struct error err;
    char *data;

    (void)state;
    assert_int_equal(fs_write_atomic("f", "old", 3, 0600, &err), 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(fs_write_atomic("f", big, sizeof big, 0600, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(fs_read("f", &data, NULL, &err), 0);
    assert_string_equal(data, "old");
    free(data);
    assert_int_equal(names_in("."), 1);
}

static void only_regular_files_are_read(void **state)
{
    struct error err;
    char *data;

    (void)state;
    assert_int_equal(fs_read("absent", &data, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(fs_read(".", &data, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(fs_read("fifo", &data, NULL, &err), -1);
    assert_int_equal(fs_read("/proc/self/status", &data, NULL, &err), 0);
    assert_non_null(strstr(data, "Pid:"));
    free(data);
}

static void mkdirs_creates_all_components(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(fs_mkdirs("a//b/c/", 0700, &err), 0);
    assert_int_equal(access("a/b/c", F_OK), 0);
    assert_int_equal(fs_mkdirs("a/b/c", 0700, &err), 0);
    assert_int_equal(fs_mkdirs("/", 0700, &err), 0);
    assert_int_equal(fs_write_atomic("a/f", "", 0, 0600, &err), 0);
    assert_int_equal(fs_mkdirs("a/f/d", 0700, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "a/f"));
}

/* Each new one is made durable by a sync of its parent. */
static void durable_directories_are_synced(void **state)
{
    struct error err;

    (void)state;
    n_synced = 0;
    assert_int_equal(fs_mkdirs("plain/b", 0700, &err), 0);
    assert_int_equal(n_synced, 0);
    assert_int_equal(fs_mkdirs_durable("plain/b//c/d/", 0700, &err), 0);
    assert_int_equal(access("plain/b/c/d", F_OK), 0);
    assert_int_equal(n_synced, 2);
    assert_int_equal(fs_mkdirs_durable("plain/b/c", 0700, &err), 0);
    assert_int_equal(n_synced, 2);
}

static void remove_tree_follows_no_link(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(fs_mkdirs("keep", 0700, &err), 0);
    assert_int_equal(fs_write_atomic("keep/f", "x", 1, 0600, &err), 0);
    assert_int_equal(fs_mkdirs("tree/deep/er", 0700, &err), 0);
    assert_int_equal(symlink("../keep", "tree/link"), 0);
    assert_int_equal(fs_write_atomic("tree/deep/f", "x", 1, 0600, &err), 0);
    assert_int_equal(fs_remove_tree("tree", &err), 0);
    assert_int_equal(access("tree", F_OK), -1);
    assert_int_equal(access("keep/f", F_OK), 0);
    assert_int_equal(fs_remove_tree("tree", &err), 0);
}

static void storage_errors_say_what_to_do(void **state)
{
    static const struct {
        const char *path, *way; /* ends the text */
    } rows[] = {
        {"/s/run", "another place with --storage"},
        {"/s", "another place with --storage"},
        {"/s/fast/image", "another place with the key staging_path"},
        {"/s/faster", "another place with --storage"},
        {"/sx", "or choose another place"},
        {"out/p.h5.run/x", "another place with --output"},
        {"/tmp/raytrain-private-1/x", "another place with TMPDIR"},
    };
    struct error err;

    (void)state;
    fs_advice_set("/s", "choose another place with --storage");
    fs_advice_set("/s/fast", "choose another place with the key staging_path");
    fs_advice_set("out/", "choose another place with --output");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        errno = ENOSPC;
        fs_error(&err, "write", rows[i].path);
        if (strlen(err.text) < strlen(rows[i].way) ||
            strcmp(err.text + strlen(err.text) - strlen(rows[i].way), rows[i].way) != 0)
            fail_msg("%s: %s", rows[i].path, err.text);
    }
    errno = ENOSPC;
    assert_int_equal(fs_error(&err, "write", "/s/r\nun"), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_string_equal(err.text,
                        "cannot write /s/r\\x0aun: No space left on device: free space "
                        "there or choose another place with --storage");
    errno = EACCES;
    fs_error(&err, "open directory", "x");
    assert_string_equal(err.text, "cannot open directory x: Permission denied: check "
                                  "the permissions");
    errno = EACCES;
    fs_error(&err, "create", "x");
    assert_non_null(strstr(err.text, "check the permissions or choose another place"));
    errno = EROFS;
    fs_error(&err, "create", "/s/x");
    assert_string_equal(err.text, "cannot create /s/x: Read-only file system: choose "
                                  "another place with --storage");
    errno = ENOENT;
    fs_error(&err, "open", "x");
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(errno, ENOENT);
}

static void text_is_made_printable(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain", "plain"},
        {"", ""},
        {"\033[31mred", "\\x1b[31mred"},
        {"a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"\xc2\x9b", "\\xc2\\x9b"}, /* a C1 control */
        {"\xe2\x82", "\\xe2\\x82"}, /* cut short */
        {"\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *out = printable_text(rows[i].in);

        assert_string_equal(out, rows[i].out);
        free(out);
    }
}

static void reads_past_the_end_are_named(void **state)
{
    struct error err;
    char buf[8];
    int fd;

    (void)state;
    assert_int_equal(fs_write_atomic("f", "abcd", 4, 0600, &err), 0);
    fd = open("f", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fs_pread_full(fd, buf, 4, 0), 0);
    assert_memory_equal(buf, "abcd", 4);
    assert_int_equal(fs_pread_full(fd, buf, 4, 1), -1);
    assert_int_equal(errno, ENODATA);
    assert_int_equal(fs_pwrite_full(fd, "XY", 2, 1), 0);
    assert_int_equal(fs_pread_full(fd, buf, 4, 0), 0);
    assert_memory_equal(buf, "aXYd", 4);
    close(fd);
}

/* In a process that was started without them. 0: everything is right. */
static int without_stdio(void)
{
    int fd;

    for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close(fd);
    if (fs_hold_stdio() < 0)
        return 1;
    fd = open("file", O_RDWR | O_CREAT, 0600);
    if (fd <= STDERR_FILENO)
        return 2;
    if (write(STDOUT_FILENO, "x", 1) != -1 || write(STDERR_FILENO, "x", 1) != -1)
        return 3; /* that it cannot be written is an error, as before */
    return 0;
}

static void files_do_not_take_the_place_of_stdio(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(without_stdio());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fs_hold_stdio(), 0);
    assert_true(fcntl(STDERR_FILENO, F_GETFL) >= 0);
}

static void a_file_is_padded_with_zeros(void **state)
{
    struct error err;
    char *data;
    size_t n;

    (void)state;
    assert_int_equal(fs_replace_padded("f", "ab", 2, 70000, 0600, &err), 0);
    assert_int_equal(fs_read("f", &data, &n, &err), 0);
    assert_int_equal(n, 70000);
    assert_memory_equal(data, "ab\0", 4);
    assert_int_equal(data[69999], 0);
    free(data);
    assert_int_equal(scratch_count("."), 1);
}

/* ---- Records ---- */

static void make_text(const char *path, const char *text)
{
    assert_int_equal(fs_write_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void expect_record(const char *path, unsigned depth, const char *text)
{
    struct error err;
    char *data;
    size_t n;

    if (record_read(path, depth, &data, &n, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(data, text);
    assert_int_equal(n, strlen(text));
    free(data);
}

static void expect_no_record(const char *path, unsigned depth, const char *why)
{
    struct error err = {0};
    char *data;

    assert_int_equal(record_read(path, depth, &data, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_non_null(strstr(err.text, why));
    assert_null(record_read_json(path, depth));
}

/* Links above the run are fine, those in it are not. */
static void records_are_not_reached_through_links(void **state)
{
    char *cwd = realpath(".", NULL), *whole;

    (void)state;
    assert_int_equal(fs_mkdirs("run/logs/attempt-0", 0700, NULL), 0);
    make_text("run/a", "{}");
    make_text("run/logs/attempt-0/b", "[1]");
    assert_int_equal(symlink("run", "to-run"), 0);
    assert_int_equal(symlink("a", "run/to-a"), 0);
    assert_int_equal(symlink("logs", "run/to-logs"), 0);
    expect_record("run/a", 1, "{}");
    expect_record("to-run/a", 1, "{}");
    expect_record("to-run//logs/attempt-0//b", 3, "[1]");
    expect_record("run/to-logs/attempt-0/b", 2, "[1]");
    expect_no_record("run/to-a", 1, "is a link");
    expect_no_record("run/to-logs/attempt-0/b", 3, "is a link");
    expect_no_record("to-run/a", 2, "is a link");
    assert_true(asprintf(&whole, "%s/run/logs/attempt-0/b", cwd) > 0);
    expect_record(whole, 3, "[1]");
    expect_record(whole, 99, "[1]");
    assert_int_equal(chdir("run"), 0);
    expect_record("a", 1, "{}");
    expect_record("./logs/attempt-0/b", 3, "[1]");
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(record_open("run/c", 1), -1);
    assert_int_equal(errno, ENOENT);
    free(whole);
    free(cwd);
}

static void what_is_not_a_small_file_is_not_a_record(void **state)
{
    (void)state;
    make_text("hole", "{}");
    assert_int_equal(truncate("hole", (off_t)1 << 40), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mkdir("directory", 0700), 0);
    expect_no_record("hole", 1, "a record has at most");
    expect_no_record("fifo", 1, "not a regular file");
    expect_no_record("directory", 1, "not a regular file");
    expect_no_record("/dev/zero", 1, "not a regular file");
}

static void expect_owner(int fd, const char *wrong)
{
    struct error err = {0};
    int rc = record_check_owner(fd, "x", &err);

    assert_int_equal(rc, wrong ? -1 : 0);
    if (wrong)
        assert_non_null(strstr(err.text, wrong));
}

static void what_others_can_write_is_not_acted_upon(void **state)
{
    int fd;

    (void)state;
    make_text("x", "{}");
    fd = record_open("x", 1);
    expect_owner(fd, NULL);
    assert_int_equal(chmod("x", 0644), 0);
    expect_owner(fd, NULL);
    assert_int_equal(chmod("x", 0664), 0);
    expect_owner(fd, "chmod go-w");
    assert_int_equal(chmod("x", 0602), 0);
    expect_owner(fd, "chmod go-w");
    assert_int_equal(chmod("x", 0600), 0);
    if (geteuid() == 0 && chown("x", 65534, 65534) == 0)
        expect_owner(fd, "another user (uid 65534)");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(what_is_written_is_read),
        SCRATCH(a_failed_write_keeps_the_old_file),
        SCRATCH(only_regular_files_are_read),
        SCRATCH(mkdirs_creates_all_components),
        SCRATCH(durable_directories_are_synced),
        SCRATCH(remove_tree_follows_no_link),
        SCRATCH(temporaries_of_living_processes_are_not_left),
        cmocka_unit_test(storage_errors_say_what_to_do),
        cmocka_unit_test(text_is_made_printable),
        SCRATCH(reads_past_the_end_are_named),
        SCRATCH(files_do_not_take_the_place_of_stdio),
        SCRATCH(a_file_is_padded_with_zeros),
        SCRATCH(records_are_not_reached_through_links),
        SCRATCH(what_is_not_a_small_file_is_not_a_record),
        SCRATCH(what_others_can_write_is_not_acted_upon),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
