/* What workers record for the launcher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/worker_record.h"
#include "scratch.h"
#include "util/fs.h"

static void put(const char *name, const char *text)
{
    assert_int_equal(fs_write_atomic(name, text, strlen(text), 0666, NULL), 0);
}

static void the_record_of_the_end_is_read(void **state)
{
    (void)state;
    assert_int_equal(worker_record_read_end(".", 4), WORKER_END_NONE);
    assert_int_equal(worker_record_end(".", WORKER_END_FINISHED, 4, NULL), 0);
    assert_int_equal(worker_record_read_end(".", 4), WORKER_END_FINISHED);
    assert_int_equal(worker_record_end(".", WORKER_END_STOPPED, 4, NULL), 0);
    assert_int_equal(worker_record_read_end(".", 4), WORKER_END_STOPPED);
    assert_int_equal(scratch_count("."), 1);
}

static void a_missing_record_of_the_end_is_accepted(void **state)
{
    static const char *const records[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"outcome\": \"finished\"}",
        "{\"outcome\": \"finished\", \"workers\": 3}",
        "{\"outcome\": \"\", \"workers\": 4}",
        "{\"outcome\": \"failed\", \"workers\": 4}",
        "{\"outcome\": 1, \"workers\": 4}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        put("end.json", records[i]);
        assert_int_equal(worker_record_read_end(".", 4), WORKER_END_NONE);
    }
}

static void the_step_is_read(void **state)
{
    char step[WORKER_STEP_MAX];

    (void)state;
    assert_false(worker_record_read_step(".", step));
    assert_int_equal(worker_record_step(".", "4711.3", NULL), 0);
    assert_true(worker_record_read_step(".", step));
    assert_string_equal(step, "4711.3");
}

/* It is handed to scancel. */
static void a_missing_step_is_accepted(void **state)
{
    static const char *const records[] = {"",   "--user=root", "7.1 7.2", "7.1\n",
                                          ".1", "7.batch",     "7",       "7."};
    char step[WORKER_STEP_MAX], longest[WORKER_STEP_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        put("step", records[i]);
        assert_false(worker_record_read_step(".", step));
        assert_string_equal(step, "");
    }
    memset(longest, '7', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    put("step", longest);
    assert_false(worker_record_read_step(".", step));
}

static void the_records_are_removed(void **state)
{
    (void)state;
    put("kept", "");
    put(".end.json.tmp-999999999-abcdef", "");
    put(".step.tmp-999999999-abcdef", "");
    worker_record_tidy(".");
    assert_int_equal(scratch_count("."), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(the_record_of_the_end_is_read),
        SCRATCH(a_missing_record_of_the_end_is_accepted), SCRATCH(the_step_is_read),
        SCRATCH(a_missing_step_is_accepted), SCRATCH(the_records_are_removed)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
