/* A JSON object that is written piece by piece, as jansson reads it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "util/json_writer.h"

static struct json_writer w;

static int teardown(void **state)
{
    (void)state;
    json_writer_clear(&w);
    return 0;
}

static void written(const char *expected)
{
    assert_false(w.no_memory);
    assert_int_equal(w.n, strlen(expected));
    assert_memory_equal(w.text, expected, w.n);
}

static void an_object_has_members_in_order(void **state)
{
    (void)state;
    json_writer_begin(&w, NULL);
    json_writer_integer(&w, "i", -12);
    json_writer_string(&w, "s", "text");
    json_writer_begin(&w, "o");
    json_writer_end(&w);
    json_writer_begin(&w, "p");
    json_writer_real(&w, "r", 0.5);
    json_writer_string(&w, "n", NULL);
    json_writer_end(&w);
    json_writer_raw(&w, "v", "[1,2]");
    json_writer_end(&w);
    written(
        "{\"i\":-12,\"s\":\"text\",\"o\":{},\"p\":{\"r\":0.5,\"n\":null},\"v\":[1,2]}");
    json_writer_reset(&w);
    json_writer_begin(&w, NULL);
    json_writer_end(&w);
    written("{}");
}

static void integers_have_all_their_digits(void **state)
{
    (void)state;
    json_writer_begin(&w, NULL);
    json_writer_integer(&w, "a", INT64_MIN);
    json_writer_integer(&w, "b", INT64_MAX);
    json_writer_integer(&w, "c", 0);
    written("{\"a\":-9223372036854775808,\"b\":9223372036854775807,\"c\":0");
}

static void lists_have_values_without_keys(void **state)
{
    (void)state;
    json_writer_begin(&w, NULL);
    json_writer_list_begin(&w, "l");
    json_writer_integer(&w, NULL, 1);
    json_writer_list_begin(&w, NULL);
    json_writer_list_end(&w);
    json_writer_begin(&w, NULL);
    json_writer_end(&w);
    json_writer_unsigned(&w, NULL, UINT64_MAX);
    json_writer_string(&w, NULL, "[");
    json_writer_string(&w, NULL, "{");
    json_writer_real(&w, NULL, 0.25);
    json_writer_list_end(&w);
    json_writer_string(&w, "s", "text");
    json_writer_end(&w);
    written("{\"l\":[1,[],{},18446744073709551615,\"[\",\"{\",0.25],\"s\":\"text\"}");
}

/* As JSON reads it: a real, not an integer, and the same number. */
static void reads_back(double value)
{
    json_t *json, *read;

    json_writer_reset(&w);
    json_writer_begin(&w, NULL);
    json_writer_real(&w, "x", value);
    json_writer_end(&w);
    json = json_loadb(w.text, w.n, 0, NULL);
    if (!json)
        fail_msg("%.*s is no JSON", (int)w.n, w.text);
    read = json_object_get(json, "x");
    if (isfinite(value)) {
        double back = json_real_value(read);

        if (!json_is_real(read) || memcmp(&back, &value, sizeof back) != 0)
            fail_msg("%a became %.*s", value, (int)w.n, w.text);
    } else {
        assert_true(json_is_null(read));
    }
    json_decref(json);
}

static uint64_t next_random(void)
{
    static uint64_t x = 88172645463325252u; /* xorshift64, Marsaglia 2003 */

    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

static void reals_read_back_as_the_same(void **state)
{
    static const double values[] = {0,         -0.0,
                                    1,         -1,
                                    0.1,       1e-6,
                                    1e-7,      0.87,
                                    1e15,      1e16,
                                    123456789, 5e-324,
                                    1e-300,    1.7976931348623157e308,
                                    0x1p53,    0x1p52,
                                    1e9,       9007199254.740993,
                                    -3.25,     2.2250738585072014e-308,
                                    1.0 / 3,   0.999999,
                                    9.9e-07,   4503599627.370497,
                                    1e23,      NAN,
                                    INFINITY};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        reads_back(values[i]);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random();
        double any, few = (double)(int64_t)(bits % 20000000) / 1e6 - 10;

        memcpy(&any, &bits, sizeof any);
        if (!isnan(any))
            reads_back(any);
        reads_back(few);
        reads_back(nextafter(few, 100));
    }
}

/* As JSON reads it: a double, which becomes the nearest float. */
static void reads_back32(float value)
{
    json_t *json;
    float back;

    json_writer_reset(&w);
    json_writer_begin(&w, NULL);
    json_writer_real32(&w, "x", value);
    json_writer_end(&w);
    json = json_loadb(w.text, w.n, 0, NULL);
    assert_non_null(json);
    back = (float)json_real_value(json_object_get(json, "x"));
    if (!json_is_real(json_object_get(json, "x")) ||
        memcmp(&back, &value, sizeof back) != 0)
        fail_msg("%a became %.*s", (double)value, (int)w.n, w.text);
    json_decref(json);
}

static void floats_read_back_as_the_same(void **state)
{
    static const float values[] = {0,        -0.0f,           0.1f,      1e-6f,
                                   1e-12f,   3e-13f,          16777216,  9e9f,
                                   1e10f,    0x1p-149f,       0x1p-126f, 3.4028235e38f,
                                   -0.3333f, 1.00000012f,     1e9f,      123456.789f,
                                   8.5e9f,   0.000123456789f, -1e-7f};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        reads_back32(values[i]);
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)next_random();
        float any, few = (float)(int32_t)(bits % 20000000) / 1e7f - 1;

        memcpy(&any, &bits, sizeof any);
        if (isfinite(any))
            reads_back32(any);
        reads_back32(few);
    }
}

static void floats_have_no_digits_of_a_double(void **state)
{
    (void)state;
    json_writer_begin(&w, NULL);
    json_writer_real32(&w, "a", 0.1f);
    json_writer_real32(&w, "b", -0.9876543f);
    json_writer_real32(&w, "c", 3);
    json_writer_real32(&w, "d", 1e-30f);
    json_writer_real32(&w, "e", INFINITY);
    written("{\"a\":0.1,\"b\":-0.9876543,\"c\":3.0,\"d\":1e-30,\"e\":null");
}

static void simple_decimals_stay_simple(void **state)
{
    (void)state;
    json_writer_begin(&w, NULL);
    json_writer_real(&w, "a", 0.1);
    json_writer_real(&w, "b", -12.000001);
    json_writer_real(&w, "c", 3);
    json_writer_real(&w, "d", 1e10);
    written("{\"a\":0.1,\"b\":-12.000001,\"c\":3.0,\"d\":10000000000.0");
}

static void texts_are_escaped(void **state)
{
    static const char *const texts[] = {"",           "n1.site",      "a\"b\\c",
                                        "two\nlines", "na\303\257ve", "caf\351"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *json;

        json_writer_reset(&w);
        json_writer_begin(&w, NULL);
        json_writer_string(&w, "s", texts[i]);
        json_writer_end(&w);
        json = json_loadb(w.text, w.n, 0, NULL);
        assert_non_null(json);
        assert_string_equal(json_string_value(json_object_get(json, "s")),
                            i < 5 ? texts[i] : "caf\\xe9");
        json_decref(json);
    }
}

static void texts_may_have_any_bytes(void **state)
{
    (void)state;
    json_writer_begin(&w, NULL);
    json_writer_text(&w, "a", "x\0y", 3);
    json_writer_text(&w, "b", "na\303\257ve", 4); /* cut inside a character */
    json_writer_text(&w, "c", "\355\240\200", 3); /* half of a surrogate pair */
    written(
        "{\"a\":\"x\\u0000y\",\"b\":\"na\303\257\",\"c\":\"\\\\xed\\\\xa0\\\\x80\"");
    json_writer_reset(&w);
    json_writer_text(&w, NULL, "\303\257", 1);
    written("\"\\\\xc3\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
        TEST(an_object_has_members_in_order), TEST(lists_have_values_without_keys),
        TEST(integers_have_all_their_digits), TEST(reals_read_back_as_the_same),
        TEST(floats_read_back_as_the_same),   TEST(floats_have_no_digits_of_a_double),
        TEST(simple_decimals_stay_simple),    TEST(texts_are_escaped),
        TEST(texts_may_have_any_bytes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
