#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/attempts.h"
#include "t/unit/scratch.h"
#include "util/fs.h"

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The record of attempt k; NULL: only its log directory. */
static void record(int k, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "run/logs/attempt-%d", k);
    assert_int_equal(fs_mkdirs(path, 0700, NULL), 0);
    strcat(path, "/attempt.json");
    if (text)
        put(path, text);
}

/* A report; the seconds since the restore are a tenth of all. */
static void report(int attempt, int iteration, double seconds)
{
    char line[256];

    snprintf(line, sizeof line,
             "{\"attempt\": %d, \"training_iteration\": %d, \"time_total_s\": %g,"
             " \"time_since_restore\": %g}\n",
             attempt, iteration, seconds, seconds / 10);
    put("run/result.json", line);
}

static json_t *load(bool held)
{
    json_t *all;
    struct error err;

    assert_int_equal(attempts_load("run", held, &all, &err), 0);
    return all;
}

static void check(const json_t *all, size_t k, const char *outcome, int reports,
                  int lost, double seconds)
{
    const json_t *a = json_array_get(all, k);

    assert_string_equal(json_string_value(json_object_get(a, "outcome")), outcome);
    assert_int_equal(json_integer_value(json_object_get(a, "attempt")), k);
    assert_int_equal(json_integer_value(json_object_get(a, "reports")), reports);
    if (lost < 0) {
        assert_true(json_is_null(json_object_get(a, "lost_iterations")));
        assert_true(json_is_null(json_object_get(a, "lost_seconds")));
        return;
    }
    assert_int_equal(json_integer_value(json_object_get(a, "lost_iterations")), lost);
    if (seconds < 0)
        assert_true(json_is_null(json_object_get(a, "lost_seconds")));
    else
        assert_true(json_number_value(json_object_get(a, "lost_seconds")) == seconds);
}

#define FROM(k, outcome, checkpoint)                                                   \
    "{\"attempt\": " #k ", " outcome "\"checkpoint\": " checkpoint "}"
#define FAILED "\"outcome\": \"failed\", "

static void attempts_of_a_run_with_failures_are_read(void **state)
{
    json_t *all;

    (void)state;
    /* Reports 1 to 5, but only checkpoint 3 was published. */
    record(0, FROM(0, FAILED, "null"));
    for (int i = 1; i <= 5; i++)
        report(0, i, 2.0 * i);
    /* Killed before it had restored anything, then once more after that. */
    record(1, FROM(1, FAILED, "null"));
    record(2, FROM(2, FAILED, "\"/s/run/checkpoint_000003.h5\""));
    report(2, 4, 9);
    report(2, 5, 12);
    /* Its checkpoint 5 was damaged: back to 4. */
    record(3, FROM(3, FAILED, "\"/s/run/checkpoint_000004.h5\""));
    record(4,
           FROM(4, "\"outcome\": \"finished\", ", "\"/s/run/checkpoint_000004.h5\""));
    report(4, 5, 13);
    report(4, 6, 14);
    put("run/checkpoint_000004.h5", "");
    all = load(false);
    assert_int_equal(json_array_size(all), 5);
    check(all, 0, "failed", 5, 2, 4);
    check(all, 1, "failed", 0, 0, 0);
    check(all, 2, "failed", 2, 1, 3);
    check(all, 3, "failed", 0, 0, 0);
    check(all, 4, "finished", 2, -1, 0);
    json_decref(all);
}

static void a_start_that_no_record_names_is_seen_in_the_reports(void **state)
{
    json_t *all;

    (void)state;
    /* Killed before the record was written again; the next one began at once. */
    record(0, FROM(0, "", "null"));
    put("run/result.json",
        "{\"attempt\": 0, \"training_iteration\": 21, \"time_total_s\": 210,"
        " \"time_since_restore\": 10, \"iterations_since_restore\": 1}\n"
        "{\"attempt\": 0, \"training_iteration\": 22, \"time_total_s\": 220,"
        " \"time_since_restore\": 20, \"iterations_since_restore\": 2}\n");
    record(1, FROM(1, "", "null"));
    all = load(true);
    check(all, 0, "interrupted", 2, 2, 20);
    check(all, 1, "running", 0, -1, 0);
    json_decref(all);
}

static void losses_of_the_last_attempt_depend_on_what_is_left(void **state)
{
    json_t *all;

    (void)state;
    record(0, FROM(0, "", "\"/other/checkpoint_000007.h5\""));
    report(0, 8, 80);
    report(0, 9, 90);
    /* It has no checkpoint: the run returns to the one that it started from. */
    all = load(false);
    check(all, 0, "interrupted", 2, 2, 9);
    json_decref(all);
    all = load(true);
    check(all, 0, "running", 2, -1, 0);
    json_decref(all);
    put("run/checkpoint_000008.h5", "");
    all = load(false);
    check(all, 0, "interrupted", 2, 1, 10);
    json_decref(all);
}

static void an_attempt_without_a_checkpoint_loses_everything(void **state)
{
    json_t *all;

    (void)state;
    record(0, FROM(0, FAILED, "null"));
    report(0, 1, 5);
    record(1, FROM(1, FAILED, "null"));
    report(1, 1, 6);
    report(1, 2, 8);
    all = load(false);
    check(all, 0, "failed", 1, 1, 5);
    check(all, 1, "failed", 2, 2, 8);
    json_decref(all);
}

static void missing_records_are_accepted(void **state)
{
    json_t *all;

    (void)state;
    record(0, NULL);
    record(1, "{ half");
    record(3, "[1, 2]");
    report(1, 1, 1);
    put("run/result.json", "rubbish\n{\"attempt\": \"x\"}\n{}\n");
    all = load(true);
    assert_int_equal(json_array_size(all), 4);
    check(all, 1, "interrupted", 1, 1, 1);
    check(all, 2, "interrupted", 0, 0, 0);
    check(all, 3, "running", 0, -1, 0);
    json_decref(all);
}

static void a_directory_without_a_run_has_no_attempts(void **state)
{
    json_t *all = load(false);

    (void)state;
    assert_int_equal(json_array_size(all), 0);
    json_decref(all);
}

/* Attempts that are killed again and again after a few reports. */
static void hundreds_of_attempts_are_read(void **state)
{
    enum { MANY = 300 };
    json_t *all;

    (void)state;
    for (int k = 0; k < MANY; k++) {
        record(k, FROM(0, FAILED, "null"));
        if (k % 2)
            report(k, 1, 2);
        if (k % 3 == 0)
            report(k, 2, 4);
    }
    report(MANY, 1, 1); /* of none of them */
    all = load(false);
    assert_int_equal(json_array_size(all), MANY);
    for (size_t k = 0; k < MANY; k++) {
        const json_t *a = json_array_get(all, k);
        int last = k % 3 == 0 ? 2 : k % 2 ? 1 : 0;

        assert_int_equal(json_integer_value(json_object_get(a, "reports")),
                         (k % 2) + (k % 3 == 0));
        assert_int_equal(json_integer_value(json_object_get(a, "iteration")), last);
        assert_int_equal(json_integer_value(json_object_get(a, "lost_iterations")),
                         last);
    }
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(attempts_of_a_run_with_failures_are_read),
        SCRATCH(a_start_that_no_record_names_is_seen_in_the_reports),
        SCRATCH(losses_of_the_last_attempt_depend_on_what_is_left),
        SCRATCH(an_attempt_without_a_checkpoint_loses_everything),
        SCRATCH(missing_records_are_accepted),
        SCRATCH(hundreds_of_attempts_are_read),
        SCRATCH(a_directory_without_a_run_has_no_attempts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
