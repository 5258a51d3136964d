/* Where ranks say that they are, the text of signal handlers, and whom a hang names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "scratch.h"
#include "store/whereabouts.h"
#include "train/hang_watch.h"
#include "util/async_text.h"
#include "util/fs.h"

static void check_time(int64_t t, const char *expected)
{
    char text[ASYNC_TIME_MAX + 1];

    *async_time(text, t) = '\0';
    assert_string_equal(text, expected);
}

static void times_are_those_of_the_calendar(void **state)
{
    (void)state;
    check_time(0, "1970-01-01T00:00:00Z");
    check_time(951827696, "2000-02-29T12:34:56Z");
    check_time(1709251199, "2024-02-29T23:59:59Z");
    check_time(1709251200, "2024-03-01T00:00:00Z");
    check_time(4107542399, "2100-02-28T23:59:59Z");
    check_time(4107542400, "2100-03-01T00:00:00Z");
    check_time(-5, "1970-01-01T00:00:00Z");
}

static void numbers_are_decimal(void **state)
{
    char text[ASYNC_NUMBER_MAX + 1];

    (void)state;
    *async_number(text, 0) = '\0';
    assert_string_equal(text, "0");
    *async_number(text, UINT64_MAX) = '\0';
    assert_string_equal(text, "18446744073709551615");
}

static void what_is_written_is_read(void **state)
{
    struct whereabouts *at = whereabouts_read(".", "w", 2);

    (void)state;
    assert_int_equal(at[0].calls, -1);
    free(at);
    assert_int_equal(whereabouts_write("w", 2, "report", 1234567), 0);
    assert_int_equal(whereabouts_write("w", 0, "a name that is too long", 0), 0);
    at = whereabouts_read(".", "w", 4);
    assert_int_equal(at[0].calls, 0);
    assert_string_equal(at[0].call, "a name that is");
    assert_int_equal(at[1].calls, -1);
    assert_int_equal(at[2].calls, 1234567);
    assert_string_equal(at[2].call, "report");
    assert_int_equal(at[3].calls, -1);
    free(at);
}

static void garbage_is_nothing(void **state)
{
    static const char garbage[] =
        "\033[2Jxxxxxxxxxxx              7\nreport                 -7      "
        "report              nothing    ";
    struct whereabouts *at;

    (void)state;
    assert_int_equal(fs_write_atomic("w", garbage, sizeof garbage, 0600, NULL), 0);
    at = whereabouts_read(".", "w", 3);
    assert_null(strchr(at[0].call, '\033'));
    assert_int_equal(at[1].calls, -1);
    assert_int_equal(at[2].calls, -1);
    free(at);
}

static void check_hang(const struct whereabouts at[], int size, int rank,
                       const char *expected)
{
    char text[ERROR_TEXT_MAX];

    assert_int_equal(hang_sentence(at, size, 60, text, sizeof text), rank);
    assert_string_equal(text, expected);
}

#define SILENCE                                                                        \
    {                                                                                  \
        "", -1                                                                         \
    }

static void a_hang_names_who_is_behind_or_silent(void **state)
{
    (void)state;
    check_hang((struct whereabouts[]){{"report", 7}, {"barrier", 6}}, 2, 1,
               "no report for 60 s: rank 1 has not come to report, where rank 0 is; "
               "the stacks are in the logs");
    check_hang((struct whereabouts[]){{"report", 7}, SILENCE, {"report", 7}}, 3, 1,
               "no report for 60 s: rank 1 does not answer (stopped, or in a call of "
               "the system that does not end); ranks 0, 2 have come to report, and no "
               "further; the stacks are in the logs");
    check_hang((struct whereabouts[]){{"start", 0}, {"report", 7}, SILENCE}, 3, 2,
               "no report for 60 s: rank 2 does not answer (stopped, or in a call of "
               "the system that does not end); rank 0 has not come to report, where "
               "rank 1 is; the stacks are in the logs");
    check_hang((struct whereabouts[]){SILENCE, SILENCE}, 2, 0,
               "no report for 60 s: ranks 0-1 do not answer (stopped, or in a call of "
               "the system that does not end)");
    check_hang((struct whereabouts[]){{"report", 7}, {"report", 7}}, 2, -1,
               "no report for 60 s: ranks 0-1 have come to report, and no further; "
               "the stacks are in the logs");
    check_hang((struct whereabouts[]){{"report", 7}}, 1, 0,
               "no report for 60 s: rank 0 has come to report, and no further; the "
               "stacks are in the logs");
}

/* Many ranks, a short place: what does not fit is left out, and nothing breaks. */
static void a_sentence_fits_its_place(void **state)
{
    struct whereabouts *at = calloc(5000, sizeof *at);
    char text[200];

    (void)state;
    for (int i = 0; i < 5000; i++)
        at[i] = (struct whereabouts){"report", i % 3 - 1};
    assert_int_equal(hang_sentence(at, 5000, 60, text, sizeof text), 0);
    assert_true(strlen(text) < sizeof text);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_those_of_the_calendar),
        cmocka_unit_test(numbers_are_decimal),
        SCRATCH(what_is_written_is_read),
        SCRATCH(garbage_is_nothing),
        cmocka_unit_test(a_hang_names_who_is_behind_or_silent),
        cmocka_unit_test(a_sentence_fits_its_place),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
