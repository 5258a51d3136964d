/* Reports are followed while they are made: half lines, replaced files, journals. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/journal.h"
#include "run/metrics.h"
#include "run/report_follow.h"
#include "scratch.h"

static char heard[4096]; /* lines, or "ATTEMPT/ITERATION ", as they come */

/* ---- Helpers ---- */

static void hear(const char *fmt, long a, long b)
{
    size_t used = strlen(heard);

    snprintf(heard + used, sizeof heard - used, fmt, a, b);
}

static void put(const char *path, const char *text, const char *mode)
{
    FILE *f = fopen(path, mode);

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void line_hear(void *arg, const char *line, size_t n)
{
    size_t used = strlen(heard);

    (void)arg;
    assert_int_equal(strlen(line), n);
    snprintf(heard + used, sizeof heard - used, "%.20s(%zu) ", line, n);
}

/* What line_follow() delivers of the file `f`. */
static void expect_lines(uint64_t *offset, const char *lines)
{
    heard[0] = '\0';
    assert_int_equal(line_follow("f", 1, offset, line_hear, NULL, NULL), 0);
    assert_string_equal(heard, lines);
}

/* A run directory with the log directories of two attempts. */
static void run_make(void)
{
    mkdir("run", 0777);
    mkdir("run/logs", 0777);
    mkdir("run/logs/attempt-0", 0777);
    heard[0] = '\0';
}

static void attempt_make(int attempt)
{
    char path[64];

    snprintf(path, sizeof path, "run/logs/attempt-%d", attempt);
    mkdir(path, 0777);
}

/* A line of result.json. */
static void result_put(int attempt, int iteration)
{
    char line[128];

    snprintf(line, sizeof line, "{\"training_iteration\":%d,\"attempt\":%d}\n",
             iteration, attempt);
    put("run/result.json", line, "a");
}

static void journal_put(int attempt, int iteration, const char *more)
{
    char dir[64], line[128];
    struct journal *j;

    snprintf(dir, sizeof dir, "run/logs/attempt-%d", attempt);
    snprintf(line, sizeof line, "{\"training_iteration\":%d,\"attempt\":%d%s}",
             iteration, attempt, more);
    if (access(METRICS_JOURNAL, F_OK) < 0)
        (void)journal_create(dir, METRICS_JOURNAL, NULL);
    assert_int_equal(journal_open(dir, METRICS_JOURNAL, &j, NULL), 0);
    assert_int_equal(journal_append(j, line, strlen(line), NULL), 0);
    journal_close(j);
}

static void (*at_first)(void); /* called once, in the middle of a poll */

static void report_hear(void *arg, const json_t *report)
{
    (void)arg;
    if (at_first)
        at_first();
    at_first = NULL;
    assert_null(json_object_get(report, METRICS_IF_MISSING));
    hear("%ld/%ld ", (long)json_integer_value(json_object_get(report, "attempt")),
         (long)json_integer_value(json_object_get(report, "training_iteration")));
}

static struct report_follower *follow(size_t n)
{
    struct report_follower *f = NULL;

    assert_int_equal(report_follow_open("run", n, &f, NULL), 0);
    return f;
}

static void expect(struct report_follower *f, const char *reports)
{
    struct error err;

    heard[0] = '\0';
    if (report_follow_poll(f, report_hear, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(heard, reports);
}

/* ---- Lines of a file ---- */

static void a_missing_file_has_no_lines_yet(void **state)
{
    uint64_t offset = 0;

    (void)state;
    expect_lines(&offset, "");
    put("f", "a\n", "w");
    expect_lines(&offset, "a(1) ");
}

static void half_a_line_waits_for_the_other_half(void **state)
{
    uint64_t offset = 0;

    (void)state;
    put("f", "first\nsec", "w");
    expect_lines(&offset, "first(5) ");
    expect_lines(&offset, "");
    put("f", "ond\n\nthird", "a");
    expect_lines(&offset, "second(6) (0) ");
    put("f", "\n", "a");
    expect_lines(&offset, "third(5) ");
    expect_lines(&offset, "");
}

static void a_line_may_be_long(void **state)
{
    static char text[400000];
    uint64_t offset = 0;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    put("f", "a\n", "w");
    put("f", text, "a");
    expect_lines(&offset, "a(1) ");
    put("f", "\nb\n", "a");
    expect_lines(&offset, "xxxxxxxxxxxxxxxxxxxx(399999) b(1) ");
}

static void a_file_that_is_replaced_by_a_shorter_one_is_read_again(void **state)
{
    uint64_t offset = 0;

    (void)state;
    put("f", "one\ntwo\n", "w");
    expect_lines(&offset, "one(3) two(3) ");
    put("new", "uno\n", "w");
    assert_int_equal(rename("new", "f"), 0);
    expect_lines(&offset, "uno(3) ");
    put("f", "due\n", "a");
    expect_lines(&offset, "due(3) ");
    put("f", "", "w");
    expect_lines(&offset, "");
}

static void what_cannot_be_read_is_an_error(void **state)
{
    uint64_t offset = 0;
    struct error err;

    (void)state;
    assert_int_equal(mkdir("f", 0777), 0);
    assert_int_equal(line_follow("f", 1, &offset, line_hear, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
}

/* ---- Reports ---- */

static void the_first_poll_delivers_the_last_reports(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    for (int i = 1; i <= 5; i++)
        result_put(0, i);
    journal_put(0, 5, "");
    journal_put(0, 6, "");
    f = follow(3);
    expect(f, "0/4 0/5 0/6 "); /* 5 is in both */
    expect(f, "");
    result_put(0, 6);
    journal_put(0, 7, "");
    expect(f, "0/7 ");
    report_follow_close(f);
}

static void none_of_the_earlier_reports_are_delivered_if_none_are_wanted(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    result_put(0, 1);
    f = follow(0);
    heard[0] = '\0';
    assert_int_equal(report_follow_poll(f, report_hear, NULL, NULL), 0);
    result_put(0, 2);
    expect(f, "0/2 ");
    report_follow_close(f);
}

static void a_run_may_have_no_reports_yet(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    f = follow(10);
    expect(f, "");
    journal_put(0, 1, "");
    expect(f, "0/1 ");
    report_follow_close(f);
}

static void a_report_in_the_journal_and_then_in_result_json_comes_once(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    f = follow(10);
    expect(f, "");
    journal_put(0, 1, "");
    expect(f, "0/1 ");
    result_put(0, 1);
    expect(f, "");
    journal_put(0, 2, "");
    result_put(0, 2);
    expect(f, "0/2 ");
    report_follow_close(f);
}

static void a_journal_that_is_removed_in_between_loses_no_report(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    f = follow(10);
    journal_put(0, 1, "");
    expect(f, "0/1 ");
    journal_put(0, 2, "");
    result_put(0, 1);
    result_put(0, 2);
    journal_remove("run/logs/attempt-0", METRICS_JOURNAL);
    expect(f, "0/2 ");
    expect(f, "");
    report_follow_close(f);
}

/* The launcher, at the end of attempt 0. */
static void journal_settle(void)
{
    result_put(0, 3);
    journal_remove("run/logs/attempt-0", METRICS_JOURNAL);
}

static void a_journal_that_is_removed_while_it_is_followed_loses_no_report(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    journal_put(0, 1, "");
    f = follow(10);
    expect(f, "0/1 ");
    journal_put(0, 2, "");
    journal_put(0, 3, "");
    result_put(0, 1);
    result_put(0, 2);
    attempt_make(1);
    journal_put(1, 1, "");
    at_first = journal_settle;
    expect(f, "0/2 0/3 1/1 ");
    report_follow_close(f);
}

static void reports_that_an_attempt_makes_again_come_again(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    f = follow(10);
    for (int i = 1; i <= 3; i++)
        result_put(0, i);
    expect(f, "0/1 0/2 0/3 ");
    attempt_make(1);
    journal_put(1, 2, "");
    expect(f, "1/2 ");
    attempt_make(2);
    attempt_make(3);
    journal_put(1, 3, "");
    journal_put(3, 3, "");
    expect(f, "1/3 3/3 ");
    report_follow_close(f);
}

static void half_a_report_waits_and_other_lines_are_passed_over(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    put("run/result.json", "nonsense\n\n{\"note\":1}\n[]\n", "w");
    result_put(0, 1);
    put("run/result.json", "{\"training_iteration\":2,\"att", "a");
    f = follow(10);
    expect(f, "0/1 ");
    put("run/result.json", "empt\":0}\n", "a");
    expect(f, "0/2 ");
    report_follow_close(f);
}

static void the_mark_of_a_report_in_a_journal_is_not_passed_on(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    journal_put(0, 1, ",\"" METRICS_IF_MISSING "\":true");
    f = follow(10);
    expect(f, "0/1 "); /* report_hear() looks */
    report_follow_close(f);
}

/* A report at its beginning is not delivered, though it is one of the last ones. */
static void only_the_end_of_a_large_file_is_read(void **state)
{
    struct report_follower *f;

    (void)state;
    run_make();
    for (int i = 1; i <= 40000; i++)
        if (i == 1)
            put("run/result.json", "{\"training_iteration\":1,\"attempt\":0}\n", "w");
        else if (i % 8000 == 0)
            result_put(0, i);
        else
            put("run/result.json",
                "{\"filler\":\"....................................\"}\n", "a");
    f = follow(100);
    expect(f, "0/24000 0/32000 0/40000 ");
    report_follow_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_missing_file_has_no_lines_yet),
        SCRATCH(half_a_line_waits_for_the_other_half),
        SCRATCH(a_line_may_be_long),
        SCRATCH(a_file_that_is_replaced_by_a_shorter_one_is_read_again),
        SCRATCH(what_cannot_be_read_is_an_error),
        SCRATCH(the_first_poll_delivers_the_last_reports),
        SCRATCH(none_of_the_earlier_reports_are_delivered_if_none_are_wanted),
        SCRATCH(a_run_may_have_no_reports_yet),
        SCRATCH(a_report_in_the_journal_and_then_in_result_json_comes_once),
        SCRATCH(a_journal_that_is_removed_in_between_loses_no_report),
        SCRATCH(a_journal_that_is_removed_while_it_is_followed_loses_no_report),
        SCRATCH(reports_that_an_attempt_makes_again_come_again),
        SCRATCH(half_a_report_waits_and_other_lines_are_passed_over),
        SCRATCH(the_mark_of_a_report_in_a_journal_is_not_passed_on),
        SCRATCH(only_the_end_of_a_large_file_is_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
