/* Numbers as a line of text: scale, columns, and values that are not numbers. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/sparkline.h"

static char line[SPARKLINE_MAX];

#define N_OF(values) (sizeof(values) / sizeof(values)[0])

static void the_least_is_lowest_and_the_greatest_highest(void **state)
{
    const double values[] = {0, 1, 2, 3, 4, 5, 6, 7};

    (void)state;
    assert_string_equal(sparkline(values, 8, 8, true, line), "▁▂▃▄▅▆▇█");
    assert_string_equal(sparkline(values, 8, 8, false, line), "__.--~^^");
}

static void adjacent_values_share_a_column(void **state)
{
    const double values[] = {0, 0, 1, 1, 8, 6};

    (void)state;
    assert_string_equal(sparkline(values, 6, 3, true, line), "▁▂█");
    assert_string_equal(sparkline(values, 2, 40, true, line), "▅▅");
    assert_string_equal(sparkline(values, 6, 0, true, line), "");
    assert_string_equal(sparkline(NULL, 0, 10, true, line), "");
}

static void equal_values_lie_in_the_middle(void **state)
{
    const double values[] = {-3, -3, -3};

    (void)state;
    assert_string_equal(sparkline(values, 3, 3, true, line), "▅▅▅");
    assert_string_equal(sparkline(values, 3, 3, false, line), "---");
}

static void nan_is_a_gap_and_infinity_an_edge(void **state)
{
    const double values[] = {0, NAN, 1, -INFINITY, INFINITY}, none[] = {NAN, NAN},
                 infinite[] = {-INFINITY, INFINITY};

    (void)state;
    assert_string_equal(sparkline(values, 5, 5, true, line), "▁ █▁█");
    assert_string_equal(sparkline(none, 2, 2, true, line), "  ");
    assert_string_equal(sparkline(infinite, 2, 2, true, line), "▁█");
    assert_string_equal(sparkline(infinite, 2, 1, true, line), " ");
}

static void the_greatest_doubles_do_not_overflow(void **state)
{
    const double values[] = {-DBL_MAX, DBL_MAX, DBL_MAX, 0};

    (void)state;
    assert_string_equal(sparkline(values, 4, 4, true, line), "▁██▅");
    assert_string_equal(sparkline(values, 4, 2, true, line), "▁█");
}

static void more_columns_than_a_line_has_are_cut(void **state)
{
    static double values[2 * SPARKLINE_COLUMNS];

    (void)state;
    for (size_t i = 0; i < N_OF(values); i++)
        values[i] = (double)i;
    sparkline(values, N_OF(values), N_OF(values), false, line);
    assert_int_equal(strlen(line), SPARKLINE_COLUMNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_is_lowest_and_the_greatest_highest),
        cmocka_unit_test(adjacent_values_share_a_column),
        cmocka_unit_test(equal_values_lie_in_the_middle),
        cmocka_unit_test(nan_is_a_gap_and_infinity_an_edge),
        cmocka_unit_test(the_greatest_doubles_do_not_overflow),
        cmocka_unit_test(more_columns_than_a_line_has_are_cut),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
