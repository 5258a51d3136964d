#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "run/report_scan.h"

static const char *const KEYS[] = {"attempt", "time", "?"};
static double values[3];

static bool scan(const char *line)
{
    return report_scan(line, strlen(line), KEYS, 3, values);
}

static void numbers_are_found_between_other_values(void **state)
{
    (void)state;
    assert_true(
        scan("{\"a\": {\"attempt\": 5, \"b\": [1, {\"time\": 2}]}, \"attempt\":3,"
             " \"t\": \"x}\\\"time\\\": 9\\\\\", \"time\" : -1.5e-3 }"));
    assert_true(values[0] == 3 && values[1] == -1.5e-3 && isnan(values[2]));
    assert_true(scan("{}"));
    assert_true(isnan(values[0]) && isnan(values[1]));
}

static void what_is_no_number_is_infinite(void **state)
{
    (void)state;
    assert_true(scan("{\"?\": true, \"time\": null, \"attempt\": \"7\"}"));
    assert_true(isinf(values[0]) && isinf(values[1]) && isinf(values[2]));
}

static void a_key_is_compared_as_a_whole(void **state)
{
    (void)state;
    assert_true(scan("{\"attempts\": 1, \"attemp\": 2, \"\": 3, \"xtime\": 4}"));
    assert_true(isnan(values[0]) && isnan(values[1]));
}

static void every_part_of_a_line_is_refused(void **state)
{
    static const char LINE[] = "{\"attempt\": 1, \"by_rank\": {\"a\\\"\": [1, 2]}, "
                               "\"s\": \"\\\\\", \"time\": 2}";
    char part[sizeof LINE];

    (void)state;
    assert_true(scan(LINE));
    for (size_t n = 0; n + 1 < sizeof LINE; n++) {
        memcpy(part, LINE, n);
        part[n] = '\0';
        assert_false(scan(part));
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "[1]",      "1",          "\"{}\"",       "{} {}",       "{\"a\" 1}",
        "{\"a\":}", "{\"a\": ]}", "{a: 1}",       "{\"a\": 1]",  "{\"a\": {]}",
        "nonsense", "{\"a\": \"", "{\"a\": 1} x", "{\"a\": \"\\"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i], "{\"a\": {]}") != 0) /* only their number is compared */
            assert_false(scan(texts[i]));
}

static void a_zero_byte_ends_no_line(void **state)
{
    static const char line[] = "{\"attempt\": 1}\0 {}";

    (void)state;
    assert_false(report_scan(line, sizeof line - 1, KEYS, 3, values));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_found_between_other_values),
        cmocka_unit_test(what_is_no_number_is_infinite),
        cmocka_unit_test(a_key_is_compared_as_a_whole),
        cmocka_unit_test(every_part_of_a_line_is_refused),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_zero_byte_ends_no_line),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
