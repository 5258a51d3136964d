/* What a service says about itself and its models, and its errors. */
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

static int teardown(void **state)
{
    (void)state;
    infer_answer_clear(&a);
    return 0;
}

static void says(int rc, const char *expected)
{
    assert_int_equal(rc, 0);
    assert_string_equal(a.content_type, "application/json");
    assert_int_equal(a.header_length, 0);
    if (a.n_bytes != strlen(expected) || memcmp(a.bytes, expected, a.n_bytes) != 0)
        fail_msg("%.*s is not %s", (int)a.n_bytes, a.bytes, expected);
    infer_answer_clear(&a);
}

static void the_server_says_what_it_is_and_whether_it_is_ready(void **state)
{
    (void)state;
    says(infer_server_write("raytrain-serve", "1.0", &a),
         "{\"name\":\"raytrain-serve\",\"version\":\"1.0\",\"extensions\":["
         "\"binary_tensor_data\"]}");
    says(infer_server_live_write(true, &a), "{\"live\":true}");
    says(infer_server_ready_write(false, &a), "{\"ready\":false}");
    says(infer_model_ready_write("digits", true, &a),
         "{\"name\":\"digits\",\"ready\":true}");
}

static void an_error_is_a_sentence_whatever_its_bytes_are(void **state)
{
    (void)state;
    says(infer_error_write("no input \"\377\"", &a),
         "{\"error\":\"no input \\\"\\\\xff\\\"\"}");
}

static void a_model_has_shapes_with_rows_first(void **state)
{
    static const struct infer_column in[] = {NUMBERS("image", RAYTRAIN_UINT8, 28, 28),
                                             SCALAR("age", RAYTRAIN_FLOAT64),
                                             TEXT("note")},
                                     out[] = {NUMBERS("p", RAYTRAIN_FLOAT32, 10)};
    static const struct infer_model m = MODEL(in, out);
    const char *versions[] = {"11", "12"};

    (void)state;
    says(infer_model_write(&m, versions, 2, &a),
         "{\"name\":\"digits\",\"versions\":[\"11\",\"12\"],\"platform\":\"raytrain\","
         "\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[-1,28,28]},"
         "{\"name\":\"age\",\"datatype\":\"FP64\",\"shape\":[-1]},"
         "{\"name\":\"note\",\"datatype\":\"BYTES\",\"shape\":[-1]}],"
         "\"outputs\":[{\"name\":\"p\",\"datatype\":\"FP32\",\"shape\":[-1,10]}]}");
}

static void the_index_has_each_version_of_each_model(void **state)
{
    static const struct infer_index_entry entries[] = {{"a", "2", true},
                                                       {"b", NULL, false}};

    (void)state;
    says(infer_index_write(entries, 2, &a),
         "[{\"name\":\"a\",\"version\":\"2\",\"state\":\"READY\",\"reason\":\"\"},"
         "{\"name\":\"b\",\"state\":\"UNAVAILABLE\","
         "\"reason\":\"no worker is ready\"}]");
    says(infer_index_write(NULL, 0, &a), "[]");
}

static bool asks_for_ready(const char *body)
{
    struct infer_refusal why;
    bool ready = true;

    if (!infer_index_parse(body, strlen(body), &ready, &why))
        fail_msg("%s: %s", body, why.text);
    return ready;
}

static void an_index_may_be_asked_for_models_that_are_ready(void **state)
{
    static const char *const wrong[] = {"x",
                                        "[]",
                                        "{\"ready\": 1}",
                                        "{} 1",
                                        "{\"ready\"",
                                        "{\"ready\": true",
                                        "{\"ready\": true, \"ready\": false}"};
    struct infer_refusal why = {0};
    bool ready;

    (void)state;
    assert_false(asks_for_ready(""));
    assert_false(asks_for_ready("{}"));
    assert_false(asks_for_ready("{\"ready\": false}"));
    assert_true(asks_for_ready(" {\"other\": [1], \"ready\": true} "));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(infer_index_parse(wrong[i], strlen(wrong[i]), &ready, &why));
        assert_int_equal(why.status, 400);
        assert_non_null(strstr(why.text, "byte"));
    }
}

static void every_element_type_has_a_datatype(void **state)
{
    static const char *const names[] = {
        [RAYTRAIN_FLOAT32] = "FP32",  [RAYTRAIN_FLOAT64] = "FP64",
        [RAYTRAIN_FLOAT16] = "FP16",  [RAYTRAIN_BFLOAT16] = "BF16",
        [RAYTRAIN_INT8] = "INT8",     [RAYTRAIN_INT16] = "INT16",
        [RAYTRAIN_INT32] = "INT32",   [RAYTRAIN_INT64] = "INT64",
        [RAYTRAIN_UINT8] = "UINT8",   [RAYTRAIN_UINT16] = "UINT16",
        [RAYTRAIN_UINT32] = "UINT32", [RAYTRAIN_UINT64] = "UINT64"};

    (void)state;
    for (int dtype = RAYTRAIN_FLOAT32; dtype <= RAYTRAIN_UINT64; dtype++) {
        const struct infer_column in[] = {SCALAR("x", dtype)};
        const struct infer_model m = MODEL(in, in);
        char expected[32];

        assert_int_equal(infer_model_write(&m, NULL, 0, &a), 0);
        snprintf(expected, sizeof expected, "\"datatype\":\"%s\"", names[dtype]);
        assert_non_null(memmem(a.bytes, a.n_bytes, expected, strlen(expected)));
        assert_int_equal(infer_row_bytes(in), raytrain_dtype_size(dtype));
        infer_answer_clear(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
        TEST(the_server_says_what_it_is_and_whether_it_is_ready),
        TEST(an_error_is_a_sentence_whatever_its_bytes_are),
        TEST(a_model_has_shapes_with_rows_first),
        TEST(the_index_has_each_version_of_each_model),
        TEST(an_index_may_be_asked_for_models_that_are_ready),
        TEST(every_element_type_has_a_datatype),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
