#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "util/clock.h"

static void in_zone(const char *tz)
{
    setenv("TZ", tz, 1);
    tzset();
}

static void iso8601_has_the_offset(void **state)
{
    char text[32];

    (void)state;
    in_zone("UTC0");
    clock_iso8601(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00+00:00");
    in_zone("XYZ-5:30");
    clock_iso8601(1700000000, text);
    assert_string_equal(text, "2023-11-15T03:43:20+05:30");
    in_zone("ABC3");
    clock_iso8601(1700000000, text);
    assert_string_equal(text, "2023-11-14T19:13:20-03:00");
}

static void times_without_a_form_are_empty(void **state)
{
    char text[32] = "untouched";

    (void)state;
    in_zone("UTC0");
    clock_iso8601(INT64_MAX, text);
    assert_string_equal(text, "");
    clock_iso8601(253402300800, text); /* the year 10000 */
    assert_string_equal(text, "");
}

static void monotonic_goes_forward(void **state)
{
    double a = clock_now(), b = clock_now();

    (void)state;
    assert_true(a > 0);
    assert_true(b >= a);
}

static void unix_times_agree(void **state)
{
    int64_t before = clock_unix();
    double now = clock_unix_double();
    int64_t after = clock_unix();

    (void)state;
    assert_true(now >= (double)before - 1);
    assert_true(now <= (double)after + 1);
    assert_true(before > 1600000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso8601_has_the_offset),
        cmocka_unit_test(times_without_a_form_are_empty),
        cmocka_unit_test(monotonic_goes_forward),
        cmocka_unit_test(unix_times_agree),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
