/* Answers of the Open Inference Protocol: JSON, binary data, and both. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "infer_model.h"

static struct infer_answer a;
static struct infer_refusal why;

static int teardown(void **state)
{
    (void)state;
    infer_answer_clear(&a);
    return 0;
}

static void body_is(const void *expected, size_t n)
{
    if (a.n_bytes != n || memcmp(a.bytes, expected, n) != 0)
        fail_msg("%.*s is not %.*s", (int)a.n_bytes, a.bytes, (int)n,
                 (const char *)expected);
}

static void every_datatype_is_written_as_json(void **state)
{
    static const struct {
        raytrain_dtype dtype;
        const char *bytes, *datatype, *json; /* two numbers */
    } types[] = {
        {RAYTRAIN_FLOAT32, "\0\0\300\077\315\314\314\075", "FP32", "1.5,0.1"},
        {RAYTRAIN_FLOAT32, "\0\0\300\177\0\0\200\377", "FP32", "null,null"},
        {RAYTRAIN_FLOAT64, "\0\0\0\0\0\0\0\300\232\231\231\231\231\231\271\077", "FP64",
         "-2.0,0.1"},
        {RAYTRAIN_FLOAT64, "\0\0\0\0\0\0\370\177\0\0\0\0\0\0\360\177", "FP64",
         "null,null"},
        {RAYTRAIN_FLOAT16, "\0\076\0\174", "FP16", "1.5,null"},
        {RAYTRAIN_INT8, "\200\177", "INT8", "-128,127"},
        {RAYTRAIN_INT16, "\0\200\377\177", "INT16", "-32768,32767"},
        {RAYTRAIN_INT32, "\0\0\0\200\1\0\0\0", "INT32", "-2147483648,1"},
        {RAYTRAIN_INT64, "\0\0\0\0\0\0\0\200\1\0\0\0\0\0\0\0", "INT64",
         "-9223372036854775808,1"},
        {RAYTRAIN_UINT8, "\377\0", "UINT8", "255,0"},
        {RAYTRAIN_UINT16, "\377\377\1\0", "UINT16", "65535,1"},
        {RAYTRAIN_UINT32, "\377\377\377\377\1\0\0\0", "UINT32", "4294967295,1"},
        {RAYTRAIN_UINT64, "\377\377\377\377\377\377\377\377\1\0\0\0\0\0\0\0", "UINT64",
         "18446744073709551615,1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct infer_column out[] = {NUMBERS("y", types[i].dtype, 2)};
        const struct infer_model m = MODEL(out, out);
        struct infer_output wanted = {.column = 0};
        const struct infer_request q = {.rows = 1, .outputs = &wanted, .n_outputs = 1};
        const struct infer_data d = {.bytes = types[i].bytes};
        char expected[256];

        assert_int_equal(infer_response_write(&m, &q, &d, &a, &why), 0);
        snprintf(expected, sizeof expected,
                 "{\"model_name\":\"digits\",\"model_version\":\"12\",\"outputs\":[{"
                 "\"name\":\"y\",\"datatype\":\"%s\",\"shape\":[1,2],\"data\":[%s]}]}",
                 types[i].datatype, types[i].json);
        body_is(expected, strlen(expected));
        assert_string_equal(a.content_type, "application/json");
        assert_int_equal(a.header_length, 0);
        infer_answer_clear(&a);
    }
}

static const struct infer_column out[] = {
    NUMBERS("p", RAYTRAIN_FLOAT32, 2), TEXT("label"), SCALAR("n", RAYTRAIN_BFLOAT16)};
static const struct infer_model m = MODEL(out, out);
static const float p[] = {0.5f, 0.25f, 1, 0};
/* Rows 1 and 2 of several. */
static const uint64_t offsets[] = {2, 4, 5};
static const struct infer_data data[] = {{.bytes = p},
                                         {.bytes = "xxna\377", .offsets = offsets},
                                         {.bytes = "\200\077\0\100"}};

static void an_answer_has_the_outputs_that_are_wanted_and_the_id(void **state)
{
    struct infer_output wanted[] = {{.column = 1}, {.column = 0}};
    char id[] = "a \"b\"";
    const struct infer_request q = {
        .id = id, .rows = 2, .outputs = wanted, .n_outputs = 2};
    static const char expected[] =
        "{\"model_name\":\"digits\",\"model_version\":\"12\",\"id\":\"a \\\"b\\\"\","
        "\"outputs\":[{\"name\":\"label\",\"datatype\":\"BYTES\",\"shape\":[2],"
        "\"data\":["
        "\"na\",\"\\\\xff\"]},{\"name\":\"p\",\"datatype\":\"FP32\",\"shape\":[2,2],"
        "\"data\":[0.5,0.25,1.0,0.0]}]}";

    (void)state;
    assert_int_equal(infer_response_write(&m, &q, data, &a, &why), 0);
    body_is(expected, sizeof expected - 1);
}

static void binary_outputs_follow_the_json_in_their_order(void **state)
{
    struct infer_output wanted[] = {
        {.column = 2, .binary = true}, {.column = 0}, {.column = 1, .binary = true}};
    const struct infer_request q = {.rows = 2, .outputs = wanted, .n_outputs = 3};
    static const char expected[] =
        "{\"model_name\":\"digits\",\"model_version\":\"12\",\"outputs\":[{\"name\":"
        "\"n\","
        "\"datatype\":\"BF16\",\"shape\":[2],\"parameters\":{\"binary_data_size\":4}},{"
        "\"name\":\"p\",\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[0.5,0.25,1.0,0."
        "0]"
        "},{\"name\":\"label\",\"datatype\":\"BYTES\",\"shape\":[2],\"parameters\":{"
        "\"binary_data_size\":11}}]}";
    static const char bytes[] = "\200\077\0\100\2\0\0\0na\1\0\0\0\377";
    char all[sizeof expected + sizeof bytes];

    (void)state;
    memcpy(all, expected, sizeof expected - 1);
    memcpy(all + sizeof expected - 1, bytes, sizeof bytes - 1);
    assert_int_equal(infer_response_write(&m, &q, data, &a, &why), 0);
    body_is(all, sizeof expected - 1 + sizeof bytes - 1);
    assert_int_equal(a.header_length, sizeof expected - 1);
    assert_string_equal(a.content_type, "application/octet-stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
        TEST(every_datatype_is_written_as_json),
        TEST(an_answer_has_the_outputs_that_are_wanted_and_the_id),
        TEST(binary_outputs_follow_the_json_in_their_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
