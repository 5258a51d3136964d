#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "rank/failure_record.h"
#include "util/fs.h"
#include "protocol/events.h"
#include "rank/event.h"

static char dir[64];

static int dir_make(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/raytrain-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int dir_remove(void **state)
{
    (void)state;
    return fs_remove_tree(dir, NULL);
}

static char *content(const char *name)
{
    char path[128], *data;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(fs_read(path, &data, NULL, NULL), 0);
    return data;
}

static void record_remove(void)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, "error.json");
    assert_int_equal(unlink(path), 0);
}

static void the_first_record_stays(void **state)
{
    struct failure first = {.rank = 3,
                            .host = "n2",
                            .kind = "train_func",
                            .exit_status = 1,
                            .message = "it said \"no\"\nand \xff"};
    struct failure second = {.rank = 0,
                             .host = "n1",
                             .kind = "comm",
                             .exit_status = 1,
                             .message = "rank 3 is gone"};
    struct error err;
    char *text;
    json_t *json;

    (void)state;
    assert_int_equal(failure_record(dir, &first, &err), 0);
    assert_int_equal(failure_record(dir, &second, &err), 0);
    text = content("error.json");
    json = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "rank")), 3);
    assert_string_equal(json_string_value(json_object_get(json, "host")), "n2");
    assert_string_equal(json_string_value(json_object_get(json, "kind")), "train_func");
    assert_int_equal(json_integer_value(json_object_get(json, "pid")), getpid());
    assert_non_null(strstr(json_string_value(json_object_get(json, "message")), "no"));
    json_decref(json);
}

static int entries(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* The launcher ends the group while a rank is about to publish its record. */
static void a_killed_writer_leaves_nothing(void **state)
{
    struct failure f = {
        .rank = 1, .host = "h", .kind = "comm", .exit_status = 1, .message = "m"};
    struct error err;
    int status;
    pid_t pid;

    (void)state;
#ifndef RAYTRAIN_FAULTS
    skip();
#endif
    pid = fork();
    if (pid == 0) {
        setenv("RAYTRAIN_FAULT", "failure.record", 1);
        failure_record(dir, &f, &err);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(entries(dir), 0);
    assert_int_equal(failure_record(dir, &f, &err), 0);
    assert_int_equal(entries(dir), 1);
}

/* Also if the second one had already looked for it. */
static void racing_records_leave_one_and_no_temporary(void **state)
{
    struct failure f = {
        .rank = 1, .host = "h", .kind = "comm", .exit_status = 1, .message = "m"};
    struct error err;

    (void)state;
    assert_int_equal(failure_record(dir, &f, &err), 0);
    assert_int_equal(failure_record(dir, &f, &err), 0);
    record_remove();
    assert_int_equal(rmdir(dir), 0); /* nothing else was in it */
    assert_non_null(mkdtemp(strcpy(dir, "/tmp/raytrain-test-XXXXXX")));
}

static void no_directory_is_an_error(void **state)
{
    struct failure f = {.rank = 1, .host = "h", .kind = "comm", .message = "m"};
    struct error err;

    (void)state;
    assert_int_equal(failure_record("/nowhere/at/all", &f, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
}

static void notes_are_lines_of_json(void **state)
{
    char *text, *line, *save;
    int lines = 0;

    (void)state;
    assert_int_equal(events_create(dir, NULL), 0);
    event_add(dir, EVENT_WARNING, "metric %s is NaN", "loss");
    event_add(dir, EVENT_NOTE, "two\nlines");
    event_add("/nowhere/at/all", EVENT_NOTE, "dropped");
    events_finish(dir, NULL, NULL);
    text = content(EVENTS_FILE);
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *json = json_loads(line, 0, NULL);

        assert_non_null(json);
        assert_true(json_real_value(json_object_get(json, "time")) > 1e9);
        assert_string_equal(json_string_value(json_object_get(json, "kind")),
                            lines == 0 ? "warning" : "note");
        if (lines == 0)
            assert_string_equal(json_string_value(json_object_get(json, "text")),
                                "metric loss is NaN");
        json_decref(json);
        lines++;
    }
    free(text);
    assert_int_equal(lines, 2);
}

static void each_kind_of_failure_is_stored(void **state)
{
    (void)state;
    assert_string_equal(failure_kind(RAYTRAIN_ESTORAGE), "storage");
    assert_string_equal(failure_kind(RAYTRAIN_ETYPE), "config");
    assert_string_equal(failure_kind(RAYTRAIN_ECOMM), "comm");
    assert_string_equal(failure_kind(RAYTRAIN_EFAILED), "train_func");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_record_stays, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(racing_records_leave_one_and_no_temporary,
                                        dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_nothing, dir_make,
                                        dir_remove),
        cmocka_unit_test(no_directory_is_an_error),
        cmocka_unit_test_setup_teardown(notes_are_lines_of_json, dir_make, dir_remove),
        cmocka_unit_test(each_kind_of_failure_is_stored),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
