#include <fcntl.h>
#include <setjmp.h>
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

#include "run/run_dir.h"
#include "scratch.h"
#include "util/fs.h"

static void new_resume_and_fresh_open_a_run(void **state)
{
    struct run_dir dir;
    struct error err;
    char *aside = NULL;
    bool existed = true;

    (void)state;
    assert_int_equal(run_dir_enter("deep/storage", "r", RUN_DIR_NEW, NULL, &dir,
                                   &existed, &aside, &err),
                     0);
    assert_false(existed);
    assert_null(aside);
    assert_int_equal(dir.path[0], '/');
    assert_int_equal(fs_write_atomic("deep/storage/r/run.cfg", "1", 1, 0600, &err), 0);
    run_dir_leave(&dir);
    assert_int_equal(run_dir_enter("deep/storage", "r", RUN_DIR_NEW, NULL, &dir,
                                   &existed, &aside, &err),
                     -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "--resume"));
    assert_non_null(strstr(err.text, "--fresh"));
    assert_int_equal(run_dir_enter("deep/storage", "r", RUN_DIR_RESUME, NULL, &dir,
                                   &existed, NULL, &err),
                     0);
    assert_true(existed);
    run_dir_leave(&dir);
    for (int i = 1; i <= 2; i++) {
        char want[32];

        assert_int_equal(run_dir_enter("deep/storage", "r", RUN_DIR_FRESH, NULL, &dir,
                                       &existed, &aside, &err),
                         0);
        assert_false(existed);
        snprintf(want, sizeof want, "storage/r.%d", i);
        assert_non_null(strstr(aside, want));
        free(aside);
        run_dir_leave(&dir);
    }
    assert_int_equal(access("deep/storage/r.1/run.cfg", F_OK), 0);
    assert_int_equal(access("deep/storage/r/run.cfg", F_OK), -1);
    assert_int_equal(run_dir_enter("deep/storage", "other", RUN_DIR_RESUME, NULL, &dir,
                                   &existed, NULL, &err),
                     0);
    assert_false(existed);
    run_dir_leave(&dir);
    assert_int_equal(run_dir_enter("deep/storage", "third", RUN_DIR_FRESH, NULL, &dir,
                                   &existed, &aside, &err),
                     0);
    assert_null(aside);
    run_dir_leave(&dir);
}

/* Their writers are dead: only names of temporary files are removed. */
static void temporaries_are_removed(void **state)
{
    static const char *const left[] = {
        "r/.run.cfg.tmp-1-00000000", "r/..marker.tmp-1-00000000",
        "r/..id.tmp-1-00000000", "r/.result.h5.tmp-1-00000000"};
    char id[RUN_ID_LENGTH + 1];
    struct run_dir dir;
    struct error err;
    bool existed;

    (void)state;
    assert_int_equal(mkdir("r", 0700), 0);
    assert_int_equal(run_dir_id("r", id, &err), 0);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        assert_int_equal(fs_write_atomic(left[i], "half", 4, 0600, &err), 0);
    assert_int_equal(
        run_dir_enter(".", "r", RUN_DIR_RESUME, NULL, &dir, &existed, NULL, &err), 0);
    assert_int_equal(scratch_count("r"), 2); /* the id and the lock */
    run_dir_leave(&dir);
}

static void hostile_names_are_refused(void **state)
{
    static char longest[202];
    static const struct {
        const char *name;
        int rc;
    } rows[] = {
        {"../x", -1},
        {"a/b", -1},
        {"/", -1},
        {".", -1},
        {"..", -1},
        {"", -1},
        {"a\nb", -1},
        {"\033[2J", -1},
        {"\xff", -1},
        {"a b", 0},
        {"it's \"q\" $HOME `id`", 0},
        {"-rf", 0},
        {"caf\xc3\xa9", 0},
        {longest, 0},
    };

    (void)state;
    memset(longest, 'x', 200);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_dir dir;
        struct error err;
        bool existed;

        assert_int_equal(run_dir_enter(".", rows[i].name, RUN_DIR_NEW, NULL, &dir,
                                       &existed, NULL, &err),
                         rows[i].rc);
        if (rows[i].rc < 0) {
            assert_int_equal(err.code, RAYTRAIN_EINVAL);
            assert_null(strchr(err.text, '\033'));
        }
        run_dir_leave(&dir);
    }
    longest[200] = 'x';
    assert_int_equal(run_dir_enter(".", longest, RUN_DIR_NEW, NULL,
                                   &(struct run_dir){0}, &(bool){0}, NULL, NULL),
                     -1);
    assert_int_equal(scratch_count("."), 5);
}

static void other_files_in_the_way_are_reported(void **state)
{
    struct run_dir dir;
    struct error err;
    bool existed;

    (void)state;
    assert_int_equal(fs_write_atomic("file", "", 0, 0600, &err), 0);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(
        run_dir_enter(".", "file", RUN_DIR_RESUME, NULL, &dir, &existed, NULL, &err),
        -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(run_dir_enter(".", "dangling", RUN_DIR_RESUME, NULL, &dir,
                                   &existed, NULL, &err),
                     -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(
        run_dir_enter("file", "r", RUN_DIR_NEW, NULL, &dir, &existed, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(
        run_dir_enter("/proc/x", "r", RUN_DIR_NEW, NULL, &dir, &existed, NULL, &err),
        -1);
    assert_non_null(strstr(err.text, "/proc/x"));
    /* A link to a directory is as good as a directory. */
    assert_int_equal(mkdir("real", 0700), 0);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(
        run_dir_enter(".", "link", RUN_DIR_RESUME, NULL, &dir, &existed, NULL, &err),
        0);
    run_dir_leave(&dir);
    /* A lock that is a link is not followed. */
    assert_int_equal(unlink("real/.lock"), 0);
    assert_int_equal(symlink("../stolen", "real/.lock"), 0);
    assert_int_equal(
        run_dir_enter(".", "link", RUN_DIR_RESUME, NULL, &dir, &existed, NULL, &err),
        -1);
    assert_int_equal(access("stolen", F_OK), -1);
}

/* In another process: enter the run, and return the status code. */
static int enter_elsewhere(enum run_dir_mode mode)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct error err = {0};
        struct run_dir dir;
        bool existed;
        int rc = run_dir_enter(".", "r", mode, NULL, &dir, &existed, NULL, &err);
        char pid_text[32];

        snprintf(pid_text, sizeof pid_text, "pid %ld", (long)getppid());
        if (rc < 0 && strstr(err.text, "host ") && strstr(err.text, pid_text))
            _exit(10);
        _exit(rc < 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void a_run_has_one_holder_at_a_time(void **state)
{
    struct run_dir dir;
    struct error err;
    bool existed;

    (void)state;
    assert_int_equal(
        run_dir_enter(".", "r", RUN_DIR_NEW, NULL, &dir, &existed, NULL, &err), 0);
    assert_non_null(dir.lock);
    assert_int_equal(enter_elsewhere(RUN_DIR_RESUME), 10);
    assert_int_equal(enter_elsewhere(RUN_DIR_FRESH), 10);
    assert_int_equal(scratch_count("."), 1);
    run_dir_leave(&dir);
    assert_int_equal(enter_elsewhere(RUN_DIR_RESUME), 0);
    assert_int_equal(enter_elsewhere(RUN_DIR_FRESH), 0);
    assert_int_equal(scratch_count("."), 2);
}

static void the_id_of_a_run_stays(void **state)
{
    char first[RUN_ID_LENGTH + 1], second[RUN_ID_LENGTH + 1];
    struct error err;

    (void)state;
    assert_int_equal(run_dir_id(".", first, &err), 0);
    assert_int_equal(strlen(first), RUN_ID_LENGTH);
    assert_int_equal(run_dir_id(".", second, &err), 0);
    assert_string_equal(first, second);
    /* An incomplete id identifies no run. */
    assert_int_equal(truncate(".id", 7), 0);
    assert_int_equal(run_dir_id(".", second, &err), 0);
    assert_int_equal(strlen(second), RUN_ID_LENGTH);
    assert_string_not_equal(first, second);
    assert_int_equal(run_dir_id("nowhere", first, &err), -1);
}

static void file_copy(const char *from, const char *to)
{
    struct error err;
    char *text;
    size_t n;

    assert_int_equal(fs_read(from, &text, &n, &err), 0);
    assert_int_equal(fs_write_atomic(to, text, n, 0600, &err), 0);
    free(text);
}

static void a_copy_of_a_run_has_another_id(void **state)
{
    char first[RUN_ID_LENGTH + 1], copy[RUN_ID_LENGTH + 1], again[RUN_ID_LENGTH + 1];
    struct error err;

    (void)state;
    assert_int_equal(mkdir("a", 0700), 0);
    assert_int_equal(mkdir("b", 0700), 0);
    assert_int_equal(run_dir_id("a", first, &err), 0);
    file_copy("a/.id", "b/.id");
    assert_int_equal(run_dir_id("b", copy, &err), 0);
    assert_string_not_equal(first, copy);
    assert_int_equal(run_dir_id("b", again, &err), 0);
    assert_string_equal(copy, again);
    /* A run that is moved stays the same, also after another move. */
    assert_int_equal(rename("a", "c"), 0);
    assert_int_equal(run_dir_id("c", again, &err), 0);
    assert_string_equal(first, again);
    assert_int_equal(rename("c", "d"), 0);
    assert_int_equal(run_dir_id("d", again, &err), 0);
    assert_string_equal(first, again);
    /* So does one whose inode number changes in place. */
    assert_int_equal(mkdir("e", 0700), 0);
    file_copy("d/.id", "e/.id");
    assert_int_equal(rename("d", "f"), 0);
    assert_int_equal(rename("e", "d"), 0);
    assert_int_equal(run_dir_id("d", again, &err), 0);
    assert_string_equal(first, again);
}

static void a_missing_marker_is_detected(void **state)
{
    struct run_dir dir;
    struct error err;
    char *token, *second;
    bool existed;

    (void)state;
    assert_int_equal(
        run_dir_enter(".", "r", RUN_DIR_NEW, NULL, &dir, &existed, NULL, &err), 0);
    assert_int_equal(run_dir_write_marker(&dir, "a = 1;\n", &token, &err), 0);
    assert_int_equal(strlen(token), 32);
    assert_int_equal(run_dir_check_marker(dir.path, token, "n1", NULL, &err), 0);
    assert_int_equal(run_dir_write_marker(&dir, "", &second, &err), 0);
    assert_string_not_equal(token, second);
    assert_int_equal(run_dir_check_marker(dir.path, token, "n1", NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "n1"));
    assert_int_equal(run_dir_check_marker("/nowhere/r", token, "n2", NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "n2"));
    assert_non_null(strstr(err.text, "/nowhere/r"));
    free(token);
    free(second);
    run_dir_leave(&dir);
}

static void the_configuration_comes_with_the_token(void **state)
{
    struct run_dir dir;
    char *token, *config = NULL;
    struct error err;
    struct stat st;
    bool existed;

    (void)state;
    assert_int_equal(
        run_dir_enter(".", "r", RUN_DIR_NEW, NULL, &dir, &existed, NULL, &err), 0);
    assert_int_equal(run_dir_write_marker(&dir, "a = 1;\nb = 2;\n", &token, &err), 0);
    assert_int_equal(stat("r/.marker", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(run_dir_check_marker(dir.path, token, "n1", &config, &err), 0);
    assert_string_equal(config, "a = 1;\nb = 2;\n");
    free(config);
    config = NULL;
    token[5]++;
    assert_int_equal(run_dir_check_marker(dir.path, token, "n1", &config, &err), -1);
    token[5] = '\0';
    assert_int_equal(run_dir_check_marker(dir.path, token, "n1", &config, &err), -1);
    assert_null(config);
    free(token);
    run_dir_leave(&dir);
}

static void expect_enter(const char *storage, const char *wrong)
{
    struct run_dir dir;
    struct error err = {0};
    bool existed;
    int rc = run_dir_enter(storage, "r", RUN_DIR_NEW, NULL, &dir, &existed, NULL, &err);

    assert_int_equal(rc, wrong ? -1 : 0);
    if (wrong) {
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        assert_non_null(strstr(err.text, wrong));
        return;
    }
    run_dir_abandon(&dir, NULL);
}

#define OTHER 65533
#define SELF  65534

static void a_storage_directory_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(mkdir("s", 0777), 0);
    assert_int_equal(mkdir("team", 0777), 0);
    assert_int_equal(chown("s", OTHER, OTHER), 0);
    assert_int_equal(chown("team", OTHER, SELF), 0);
    assert_int_equal(chmod("s", 01777), 0);
    assert_int_equal(chmod("team", 02775), 0);
    expect_enter("s", NULL); /* root, as in a container */
    assert_int_equal(setegid(SELF), 0);
    assert_int_equal(seteuid(SELF), 0);
    expect_enter("s", "belongs to another user (uid 65533)");
    assert_int_equal(scratch_count("s"), 0);
    expect_enter("s/own", NULL);
    expect_enter("team", NULL);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod("team", 02777), 0);
    assert_int_equal(seteuid(SELF), 0);
    expect_enter("team", "belongs to another user");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
}

static void attempts_are_counted(void **state)
{
    struct error err;
    char *log_dir;

    (void)state;
    assert_int_equal(run_dir_last_attempt("."), -1);
    assert_int_equal(run_dir_make_log_dir(".", 0, &log_dir, &err), 0);
    assert_string_equal(log_dir, "./logs/attempt-0");
    free(log_dir);
    assert_int_equal(run_dir_make_log_dir(".", 11, &log_dir, &err), 0);
    free(log_dir);
    assert_int_equal(run_dir_make_log_dir(".", 9, &log_dir, &err), 0);
    free(log_dir);
    assert_int_equal(mkdir("logs/attempt-99x", 0700), 0);
    assert_int_equal(mkdir("logs/attempt-", 0700), 0);
    assert_int_equal(mkdir("logs/attempt-99999999999999999999", 0700), 0);
    assert_int_equal(run_dir_last_attempt("."), 11);
}

static void files_have_fixed_names(void **state)
{
    char *path;

    (void)state;
    path = run_dir_checkpoint("/r", 12);
    assert_string_equal(path, "/r/checkpoint_000012.h5");
    free(path);
    path = run_dir_checkpoint("/r", 1234567);
    assert_string_equal(path, "/r/checkpoint_1234567.h5");
    free(path);
    path = run_dir_file("/r", "result.json");
    assert_string_equal(path, "/r/result.json");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(new_resume_and_fresh_open_a_run),
        SCRATCH(temporaries_are_removed),
        SCRATCH(hostile_names_are_refused),
        SCRATCH(other_files_in_the_way_are_reported),
        SCRATCH(a_run_has_one_holder_at_a_time),
        SCRATCH(the_id_of_a_run_stays),
        SCRATCH(a_copy_of_a_run_has_another_id),
        SCRATCH(a_missing_marker_is_detected),
        SCRATCH(the_configuration_comes_with_the_token),
        SCRATCH(a_storage_directory_of_another_user_is_refused),
        SCRATCH(attempts_are_counted),
        cmocka_unit_test(files_have_fixed_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
