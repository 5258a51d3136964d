#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/number.h"
#include "util/number_text.h"

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The whole text, which lies at the very end of a block of memory, so that tools that
 * check memory see any byte that is read too far. */
static void same_as_strtod(const char *text)
{
    size_t n = strlen(text);
    char *copy = malloc(n), *end;
    double expected = strtod(text, &end), found = -1;

    assert_non_null(copy);
    memcpy(copy, text, n);
    if (number_float64(copy, copy + n, &found) != copy + (end - text) ||
        bits_of(found) != bits_of(expected))
        fail_msg("%s: %.17g instead of %.17g", text, found, expected);
    free(copy);
}

static void hard_numbers_are_as_by_strtod(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0e5",
        "+7",
        "1.",
        ".5",
        "-.5e-3",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740993.0000000000000000000000000000000000000001",
        "9007199254740992.99999999999999999999999999999999",
        "9007199254740995",
        "9007199254740991e22",
        "4503599627370497.5",
        "4503599627370496.5",
        "0.500000000000000166533453693773481063544750213623046875",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "8.10109172351e-10",
        "1.50000000000000011102230246251565",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e308",
        "1e309",
        "-1e400",
        "1e-400",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "2.225073858507201136057409796709131975934819546351645648023426109724822222"
        "0210769455165295239081350879141491589130396211068700864386945946455276572e-"
        "308",
        "1e-00000000000000000000005",
        "000000000000000000000000000000000000000000000000001.5",
        "0.00000000000000000000000000000000000000000000000000000015",
        "123456789012345678901234567890",
        "1234567890123456789",
        "12345678901234567890",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999e-40",
        "7.2057594037927933e16",
        "0.000000000000000000000000000000000000000000000000000000000000",
        "0.0000000000000000000000000000000e99999999999999999999999",
        "1e99999999999999999999999",
        "1e-99999999999999999999999",
        "inf",
        "-Infinity",
        "+INF",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same_as_strtod(texts[i]);
}

static void random_doubles_come_back(void **state)
{
    char text[64];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        double x = from_bits(random_bits());
        int digits = (int)(random_bits() % 20);

        if (!isfinite(x))
            continue;
        snprintf(text, sizeof text, "%.17g", x);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.*e", digits, x);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.*f", digits,
                 (double)(int64_t)random_bits() * 1e-9);
        same_as_strtod(text);
    }
}

static void random_digits_are_as_by_strtod(void **state)
{
    char text[128];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        int n = 1 + (int)(random_bits() % 40), point = (int)(random_bits() % 42);
        int used = 0;

        for (int k = 0; k < n; k++) {
            if (k == point)
                text[used++] = '.';
            text[used++] = (char)('0' + random_bits() % 10);
        }
        text[used] = '\0';
        if (random_bits() % 2)
            snprintf(text + used, sizeof text - (size_t)used, "%c%d",
                     random_bits() % 2 ? 'e' : 'E', (int)(random_bits() % 700) - 350);
        same_as_strtod(text);
    }
}

/* The decimals of a number between two doubles are exact as a long double; one digit
 * more decides. Without long doubles of that size, they are just numbers. */
static void numbers_between_two_doubles_are_rounded_correctly(void **state)
{
    char text[1400];

    (void)state;
    for (int i = 0; i < 5000; i++) {
        uint64_t bits = random_bits() & ~(UINT64_C(1) << 63);
        double x = from_bits(i % 4 ? bits : bits & ((UINT64_C(1) << 52) - 1));
        long double middle;
        char *e;

        if (!isfinite(x) || !isfinite(nextafter(x, INFINITY)))
            continue;
        middle = ((long double)x + (long double)nextafter(x, INFINITY)) / 2;
        snprintf(text, sizeof text, "%.*Le", i % 2 ? 1200 : 30, middle);
        same_as_strtod(text);
        e = strchr(text, 'e');
        e[-1] = '1';
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.19Le", middle);
        same_as_strtod(text);
    }
}

static void a_number_ends_where_its_text_does(void **state)
{
    static const struct {
        const char *text;
        size_t used;
    } cases[] = {
        {"", 0},         {"-", 0},          {".", 0},
        {"+.", 0},       {"e5", 0},         {" 1", 0},
        {"abc", 0},      {"i", 0},          {"in", 0},
        {"na", 0},       {"--1", 0},        {"1e", 1},
        {"1e+", 1},      {"1.5e-x", 3},     {"1.2.3", 3},
        {"12,34", 2},    {"0x10", 1},       {"1_000", 1},
        {"nan,", 3},     {"NaNs", 3},       {"infinite", 3},
        {"INFINITY", 8}, {"1.e5;", 4},      {"1 ", 1},
        {"5/", 1},       {"12345678:9", 8}, {"1234567890\n", 10},
        {"-inf", 4},     {"1\xb1", 1},      {"1:", 1},
    };
    double x;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;

        if (number_float64(text, text + strlen(text), &x) != text + cases[i].used)
            fail_msg("'%s' does not end after %zu", text, cases[i].used);
    }
    /* What is after the end does not count. */
    {
        const char *text = "12345678901.5e3";

        assert_true(number_float64(text, text + 3, &x) == text + 3);
        assert_true(x == 123);
        assert_true(number_float64(text, text + 13, &x) == text + 13);
        assert_true(x == 12345678901.5);
    }
}

static void integers_are_parsed_up_to_the_limits_of_their_type(void **state)
{
    static const struct {
        const char *text;
        size_t used;
        int64_t value;
    } cases[] = {
        {"0", 1, 0},
        {"-0", 2, 0},
        {"+42,", 3, 42},
        {"007", 3, 7},
        {"-12.5", 3, -12},
        {"9223372036854775807", 19, INT64_MAX},
        {"9223372036854775808", 0, 0},
        {"-9223372036854775808", 20, INT64_MIN},
        {"-9223372036854775809", 0, 0},
        {"18446744073709551616", 0, 0},
        {"99999999999999999999999", 0, 0},
        {"0000000000000000000000000000000012", 34, 12},
        {"00000000000000000000000000000000", 32, 0},
        {"-", 0, 0},
        {"+", 0, 0},
        {"", 0, 0},
        {"x", 0, 0},
        {" 1", 0, 0},
        {"1234567", 7, 1234567},
        {"12345678", 8, 12345678},
        {"123456789", 9, 123456789},
        {"1234567812345678", 16, 1234567812345678},
    };
    int64_t x;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;

        x = 0;
        if (number_int64(text, text + strlen(text), &x) != text + cases[i].used ||
            x != cases[i].value)
            fail_msg("'%s' became %lld", text, (long long)x);
    }
}

static void random_integers_come_back(void **state)
{
    char text[32];
    int64_t found;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        int64_t x = (int64_t)random_bits() >> random_bits() % 64;
        int n = snprintf(text, sizeof text, "%lld", (long long)x);

        assert_true(number_int64(text, text + n, &found) == text + n);
        assert_true(found == x);
    }
}

static void texts_of_numbers_are_short_and_come_back(void **state)
{
    static const struct {
        double value;
        const char *text, *as_float;
    } known[] = {
        {0.1, "0.1", "0.1"},
        {-0.0, "-0", "-0"},
        {1e300, "1e+300", "inf"},
        {5e-324, "4.94065645841247e-324", "0"},
        {1.0 / 3, "0.3333333333333333", "0.33333334"},
        {16777217, "16777217", "16777216"},
        {INFINITY, "inf", "inf"},
        {-INFINITY, "-inf", "-inf"},
        {-NAN, "nan", "nan"},
    };
    char text[NUMBER_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(number_text(text, known[i].value), strlen(known[i].text));
        assert_string_equal(text, known[i].text);
        number_text_float(text, (float)known[i].value);
        assert_string_equal(text, known[i].as_float);
    }
    for (int i = 0; i < 100000; i++) {
        double x = from_bits(random_bits());
        float y = (float)from_bits((random_bits() & ~(UINT64_C(1) << 62)) | 7);

        if (!isfinite(x))
            continue;
        number_text(text, x);
        assert_true(bits_of(strtod(text, NULL)) == bits_of(x));
        number_text_float(text, y);
        assert_true(strtof(text, NULL) == y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_numbers_are_as_by_strtod),
        cmocka_unit_test(random_doubles_come_back),
        cmocka_unit_test(random_digits_are_as_by_strtod),
        cmocka_unit_test(numbers_between_two_doubles_are_rounded_correctly),
        cmocka_unit_test(a_number_ends_where_its_text_does),
        cmocka_unit_test(integers_are_parsed_up_to_the_limits_of_their_type),
        cmocka_unit_test(random_integers_come_back),
        cmocka_unit_test(texts_of_numbers_are_short_and_come_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
