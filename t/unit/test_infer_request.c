/* Requests of the Open Inference Protocol: what is taken, and what is refused, with which
 * sentence. */
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
#include "util/half.h"

static const struct infer_column pair_in[] = {NUMBERS("x", RAYTRAIN_FLOAT32, 3),
                                              TEXT("note")},
                                 pair_out[] = {
                                     NUMBERS("probability", RAYTRAIN_FLOAT32, 2),
                                     TEXT("label"), SCALAR("half", RAYTRAIN_BFLOAT16)};
static const struct infer_model pair = MODEL(pair_in, pair_out);
static const struct infer_column one_in[] = {NUMBERS("x", RAYTRAIN_FLOAT32, 3)},
                                 one_out[] = {SCALAR("y", RAYTRAIN_FLOAT32)};
static const struct infer_model one = MODEL(one_in, one_out);

static struct infer_limits limits;
static struct infer_request q;
static struct infer_refusal why;

static int setup(void **state)
{
    (void)state;
    limits = (struct infer_limits){.rows = 0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    infer_request_clear(&q);
    return 0;
}

/* The bytes are in memory of just their size, so that a byte read beyond is detected. */
static int parse(const struct infer_model *m, const char *type, const char *header,
                 const void *bytes, size_t n)
{
    static char *copy;
    struct infer_body body = {
        .n_bytes = n, .content_type = type, .header_length = header};

    infer_request_clear(&q);
    free(copy);
    body.bytes = copy = malloc(n > 0 ? n : 1);
    memcpy(copy, bytes, n);
    return infer_request_parse(m, &body, &limits, &q, &why);
}

static void taken(const struct infer_model *m, const char *json)
{
    if (parse(m, "application/json", NULL, json, strlen(json)) < 0)
        fail_msg("%s: %s", json, why.text);
}

static void refusal_is(int status, const char *words)
{
    if (why.status != status || !strstr(why.text, words))
        fail_msg("%d: %s; it should be %d: %s", why.status, why.text, status, words);
    assert_null(q.inputs);
}

/* Refused with this status, and a sentence that has these words. */
static void refused(const struct infer_model *m, const char *json, int status,
                    const char *words)
{
    if (parse(m, "application/json", NULL, json, strlen(json)) == 0)
        fail_msg("%s is taken", json);
    refusal_is(status, words);
}

static void x_is(const float values[], size_t n)
{
    assert_int_equal(q.inputs[0].n_bytes, n * sizeof *values);
    assert_memory_equal(q.inputs[0].bytes, values, n * sizeof *values);
}

static void text_is(const struct infer_data *d, size_t row, const char *bytes, size_t n)
{
    assert_int_equal(d->offsets[row + 1] - d->offsets[row], n);
    assert_memory_equal((const char *)d->bytes + d->offsets[row], bytes, n);
}

/* One input "x" of model `one`. */
#define X(SHAPE, REST)                                                                 \
    "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":" SHAPE "," REST "}" \
    "]"                                                                                \
    "}"
#define DATA(LIST) "\"data\":" LIST

/* ---- JSON ---- */

static void flat_and_nested_data_are_the_same_rows(void **state)
{
    static const float rows[] = {1, 2.5f, -3e2f, 4, 0.1f, 6};

    (void)state;
    taken(&one, X("[2,3]", DATA("[1,2.5,-3e2,4,0.1,6]")));
    assert_int_equal(q.rows, 2);
    x_is(rows, 6);
    taken(&one, X("[2,3]", DATA("[[1,2.5,-3e2],[4,0.1,6]]")));
    x_is(rows, 6);
    taken(&one,
          " { \"inputs\" : [ { \"data\" : [ [ 1 , 2.5,-3e2 ]\n,\t[ 4,0.1 , 6 ] ] ,"
          " \"shape\" : [ 2 , 3 ] , \"datatype\":\"FP32\", \"name\" : \"x\" } ] } ");
    x_is(rows, 6);
    taken(&one, "{\"inputs\":[{\"name\":\"\\u0078\",\"datatype\":\"FP32\",\"shape\":[1,"
                "3],\"data\":[1,2.5,-3e2]}]}");
    x_is(rows, 3);
}

static void columns_of_more_dimensions_are_nested_to_the_last(void **state)
{
    static const struct infer_column in[] = {NUMBERS("x", RAYTRAIN_INT16, 2, 1)};
    static const struct infer_model m = MODEL(in, one_out);
    static const int16_t rows[] = {1, 2, 3, 4};

    (void)state;
#define X16(LIST)                                                                      \
    "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT16\",\"shape\":[2,2,1],"           \
    "\"data\":" LIST "}]}"
    taken(&m, X16("[[[1],[2]],[[3],[4]]]"));
    assert_memory_equal(q.inputs[0].bytes, rows, sizeof rows);
    taken(&m, X16("[1,2,3,4]"));
    assert_memory_equal(q.inputs[0].bytes, rows, sizeof rows);
    refused(&m, X16("[[1,2],[3,4]]"), 400,
            "\"x\" is not nested as its shape [2, 2, 1]");
    refused(&m, X16("[[[1,2]],[[3,4]]]"), 400, "a list of dimension 2 has more than 1");
    refused(&m, X16("[[[1],[2]]]"), 400, "a list of dimension 0 has fewer than 2");
    refused(&m, X16("[[[1],[2]],[[3],[4]],[[5],[6]]]"), 400, "more than 2");
    refused(&m, X16("[[[1],[2]],[[3],[[4]]]]"), 400, "a list, deeper than its shape");
}

/* One element of each datatype, from JSON and from binary data. */
static void every_datatype_is_taken_in_json_and_in_binary(void **state)
{
    static const struct {
        raytrain_dtype dtype;
        const char *datatype, *number;
        const char bytes[9]; /* of it */
    } types[] = {
        {RAYTRAIN_FLOAT32, "FP32", "1.5", "\0\0\300\077"},
        {RAYTRAIN_FLOAT32, "FP32", "3", "\0\0\100\100"},
        {RAYTRAIN_FLOAT64, "FP64", "-2", "\0\0\0\0\0\0\0\300"},
        {RAYTRAIN_FLOAT16, "FP16", "1.5", "\0\076"},
        {RAYTRAIN_INT8, "INT8", "-128", "\200"},
        {RAYTRAIN_INT16, "INT16", "-32768", "\0\200"},
        {RAYTRAIN_INT32, "INT32", "2147483647", "\377\377\377\177"},
        {RAYTRAIN_INT64, "INT64", "-9223372036854775808", "\0\0\0\0\0\0\0\200"},
        {RAYTRAIN_INT64, "INT64", "3e2", "\54\1\0\0\0\0\0\0"},
        {RAYTRAIN_UINT8, "UINT8", "255", "\377"},
        {RAYTRAIN_UINT8, "BOOL", "true", "\1"},
        {RAYTRAIN_UINT8, "BOOL", "false", "\0"},
        {RAYTRAIN_UINT8, "BOOL", "1", "\1"},
        {RAYTRAIN_UINT16, "UINT16", "65535", "\377\377"},
        {RAYTRAIN_UINT32, "UINT32", "4294967295", "\377\377\377\377"},
        {RAYTRAIN_UINT64, "UINT64", "18446744073709551615",
         "\377\377\377\377\377\377\377\377"},
        {RAYTRAIN_UINT64, "UINT64", "7.0", "\7\0\0\0\0\0\0\0"},
        {RAYTRAIN_INT64, "INT64", "9007199254740993.0", "\1\0\0\0\0\0\40\0"},
        {RAYTRAIN_INT64, "INT64", "900.719925474099300e13", "\1\0\0\0\0\0\40\0"},
        {RAYTRAIN_INT64, "INT64", "-90071992547409930e-1",
         "\377\377\377\377\377\377\337\377"},
        {RAYTRAIN_INT64, "INT64", "-9.223372036854775808e18", "\0\0\0\0\0\0\0\200"},
        {RAYTRAIN_INT64, "INT64", "-0.0e-99999", "\0\0\0\0\0\0\0\0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct infer_column in[] = {SCALAR("v", types[i].dtype)};
        const struct infer_model m = MODEL(in, one_out);
        size_t size = raytrain_dtype_size(types[i].dtype);
        char text[256], header[16];
        int n;

        snprintf(text, sizeof text,
                 "{\"inputs\":[{\"name\":\"v\",\"datatype\":\"%s\",\"shape\":[1],"
                 "\"data\":[%s]}]}",
                 types[i].datatype, types[i].number);
        taken(&m, text);
        assert_int_equal(q.inputs[0].n_bytes, size);
        assert_memory_equal(q.inputs[0].bytes, types[i].bytes, size);
        n = snprintf(text, sizeof text,
                     "{\"inputs\":[{\"name\":\"v\",\"datatype\":\"%s\",\"shape\":[1],"
                     "\"parameters\":{\"binary_data_size\":%zu}}]}",
                     types[i].datatype, size);
        memcpy(text + n, types[i].bytes, size);
        snprintf(header, sizeof header, "%d", n);
        assert_int_equal(
            parse(&m, "application/octet-stream", header, text, (size_t)n + size), 0);
        assert_memory_equal(q.inputs[0].bytes, types[i].bytes, size);
    }
}

static void numbers_that_a_datatype_cannot_hold_are_refused(void **state)
{
    static const struct {
        raytrain_dtype dtype;
        const char *datatype, *number, *words;
    } wrong[] = {
        {RAYTRAIN_INT32, "INT32", "3.5",
         "3.5, which INT32 cannot hold: it has integers"},
        {RAYTRAIN_INT8, "INT8", "128", "128, which INT8 cannot hold"},
        {RAYTRAIN_INT8, "INT8", "-129", "-129, which INT8 cannot hold"},
        {RAYTRAIN_UINT8, "UINT8", "-1", "-1, which UINT8 cannot hold"},
        {RAYTRAIN_UINT16, "UINT16", "65536", "cannot hold"},
        {RAYTRAIN_UINT32, "UINT32", "4294967296", "cannot hold"},
        {RAYTRAIN_UINT64, "UINT64", "18446744073709551616", "cannot hold"},
        {RAYTRAIN_UINT64, "UINT64", "-1", "cannot hold"},
        {RAYTRAIN_INT64, "INT64", "9223372036854775808", "cannot hold"},
        {RAYTRAIN_INT64, "INT64", "-9223372036854775809", "cannot hold"},
        {RAYTRAIN_INT64, "INT64", "9.223372036854775808e18", "cannot hold"},
        {RAYTRAIN_INT64, "INT64", "4503599627370497.3", "cannot hold"},
        {RAYTRAIN_INT64, "INT64", "1e-99999999999999999999", "cannot hold"},
        {RAYTRAIN_UINT64, "UINT64", "1e20", "cannot hold"},
        {RAYTRAIN_UINT8, "BOOL", "2", "it has true and false"},
        {RAYTRAIN_UINT8, "UINT8", "true", "is true: UINT8 takes numbers"},
        {RAYTRAIN_FLOAT32, "FP32", "1e39", "1e39, which FP32 does not reach"},
        {RAYTRAIN_FLOAT16, "FP16", "65536", "does not reach"},
        {RAYTRAIN_FLOAT64, "FP64", "1e999", "does not reach"},
        {RAYTRAIN_FLOAT32, "FP32", "NaN",
         "is NaN: FP32 takes numbers; JSON has no NaN"},
        {RAYTRAIN_FLOAT32, "FP32", "Infinity", "binary data may have them"},
        {RAYTRAIN_FLOAT32, "FP32", "-Infinity", "binary data may have them"},
        {RAYTRAIN_INT32, "INT32", "null",
         "null, which INT32 cannot hold: it has no missing"},
        {RAYTRAIN_UINT8, "BOOL", "null", "null, which BOOL cannot hold"},
        {RAYTRAIN_FLOAT32, "FP32", "\"1\"", "is a string"},
        {RAYTRAIN_FLOAT32, "FP32", "{}", "is an object"},
        {RAYTRAIN_FLOAT32, "FP32", "nan", "wrong at byte"},
        {RAYTRAIN_FLOAT32, "FP32", "+1", "not a value"},
        {RAYTRAIN_FLOAT32, "FP32", ".5", "not a value"},
        {RAYTRAIN_FLOAT32, "FP32", "01", "wrong at byte"},
        {RAYTRAIN_FLOAT32, "FP32", "1.", "wrong at byte"},
        {RAYTRAIN_FLOAT32, "FP32", "1.e5", "wrong at byte"},
        {RAYTRAIN_FLOAT32, "FP32", "-", "wrong at byte"},
        {RAYTRAIN_FLOAT32, "FP32", "1e", "a number has no digit in its exponent"},
        {RAYTRAIN_BFLOAT16, "BF16", "1", "BF16, which JSON has no notation for"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct infer_column in[] = {SCALAR("v", wrong[i].dtype)};
        const struct infer_model m = MODEL(in, one_out);
        char text[256];

        snprintf(text, sizeof text,
                 "{\"inputs\":[{\"name\":\"v\",\"datatype\":\"%s\",\"shape\":[1],"
                 "\"data\":[%s]}]}",
                 wrong[i].datatype, wrong[i].number);
        refused(&m, text, 400, wrong[i].words);
        assert_non_null(strstr(why.text, "\"v\""));
    }
}

static void an_element_that_is_wrong_is_named_by_its_number(void **state)
{
    (void)state;
    refused(&one, X("[2,3]", DATA("[[1,2,3],[4,\"5\",6]]")), 400,
            "element 4 of input \"x\" is a string: FP32 takes numbers");
}

static void counts_that_do_not_match_the_shape_are_refused(void **state)
{
    (void)state;
    refused(&one, X("[2,3]", DATA("[1,2,3,4,5]")), 400,
            "the data of input \"x\" has fewer elements than its shape [2, 3]");
    refused(&one, X("[2,3]", DATA("[1,2,3,4,5,6,7]")), 400, "has more elements");
    refused(&one, X("[1,3]", DATA("[[1,2,3],[4,5,6]]")), 400, "more than 1");
    refused(&one, X("[2,3]", DATA("[[1,2,3],[4,5]]")), 400, "fewer than 3");
    refused(&one, X("[2,3]", DATA("[[1,2,3],[4,5,6,7]]")), 400, "more than 3");
    refused(&one, X("[2,3]", DATA("[[1,2,3],4,5,6]")), 400, "not nested as its shape");
    refused(&one, X("[1,3]", DATA("[]")), 400, "fewer");
    refused(&one, X("[1,3]", DATA("[,1,2]")), 400, "not a value");
    refused(&one, X("[1,3]", DATA("[1,2,3,]")), 400, "more elements");
}

static void shapes_that_are_not_the_models_are_refused(void **state)
{
    (void)state;
    refused(
        &one, X("[3]", DATA("[1,2,3]")), 400,
        "input \"x\" has shape [3], and the model takes [N, 3]: the first dimension "
        "is the number of rows");
    refused(&one, X("[1,4]", DATA("[1,2,3,4]")), 400,
            "input \"x\" has shape [1, 4], and the model takes [N, 3]");
    refused(&one, X("[1,3,2]", DATA("[1,2,3]")), 400, "has shape [1, 3, 2]");
    refused(&one, X("[]", DATA("[1,2,3]")), 400, "has shape [], and");
    refused(&one, X("[-1,3]", DATA("[1,2,3]")), 400, "the shape of input \"x\" has -1");
    refused(&one, X("[1,-3]", DATA("[1,2,3]")), 400, "the shape of input \"x\" has -3");
    refused(&one, X("[1.5,3]", DATA("[1,2,3]")), 400, "an integer of 64 bits");
    refused(&one, X("[1,\"3\"]", DATA("[1,2,3]")), 400, "it is a string");
    refused(&one, X("[1,3,1,1,1,1,1,1,7]", DATA("[1,2,3]")), 400,
            "has shape [1, 3, 1, 1, 1, 1, 1, 1, 7], and");
    refused(&one, X("[1,3,1,1,1,1,1,1,1,1]", DATA("[1,2,3]")), 400,
            "more than 9 dimensions");
    refused(&one, X("{}", DATA("[1,2,3]")), 400,
            "should be a list, and it is an object");
}

/* A tensor "v" of one column of this type, and its data. */
static int scalars_parse(raytrain_dtype dtype, const char *datatype, const char *shape,
                         const char *data)
{
    const struct infer_column in[] = {SCALAR("v", dtype)};
    const struct infer_model m = MODEL(in, one_out);
    char text[256];

    snprintf(text, sizeof text,
             "{\"inputs\":[{\"name\":\"v\",\"datatype\":\"%s\",\"shape\":%s,"
             "\"data\":%s}]}",
             datatype, shape, data);
    return parse(&m, "application/json", NULL, text, strlen(text));
}

static void null_is_a_missing_number_or_an_empty_text(void **state)
{
    (void)state;
    assert_int_equal(scalars_parse(RAYTRAIN_FLOAT64, "FP64", "[2]", "[1.5,null]"), 0);
    assert_true(((const double *)q.inputs[0].bytes)[0] == 1.5);
    assert_true(isnan(((const double *)q.inputs[0].bytes)[1]));
    assert_int_equal(scalars_parse(RAYTRAIN_FLOAT32, "INT64", "[1]", "[null]"), 0);
    assert_true(isnan(*(const float *)q.inputs[0].bytes));
}

static void numbers_of_another_datatype_are_taken(void **state)
{
    (void)state;
    assert_int_equal(scalars_parse(RAYTRAIN_FLOAT64, "FP32", "[1]", "[0.1]"), 0);
    assert_true(*(const double *)q.inputs[0].bytes == 0.1);
    assert_int_equal(scalars_parse(RAYTRAIN_FLOAT32, "FP64", "[1]", "[0.1]"), 0);
    assert_true(*(const float *)q.inputs[0].bytes == 0.1F);
    assert_int_equal(scalars_parse(RAYTRAIN_INT64, "FP64", "[1]", "[3.0]"), 0);
    assert_true(*(const int64_t *)q.inputs[0].bytes == 3);
    assert_int_equal(scalars_parse(RAYTRAIN_INT64, "FP64", "[1]", "[3.5]"), -1);
    assert_int_equal(scalars_parse(RAYTRAIN_FLOAT64, "BOOL", "[2]", "[true,0]"), 0);
    assert_true(((const double *)q.inputs[0].bytes)[0] == 1);
    assert_true(((const double *)q.inputs[0].bytes)[1] == 0);
    assert_int_equal(scalars_parse(RAYTRAIN_FLOAT64, "BYTES", "[1]", "[\"a\"]"), -1);
}

/* Two numbers in binary, for a column of another type. */
static int binary_parse(raytrain_dtype dtype, const char *datatype, const void *bytes,
                        size_t size)
{
    const struct infer_column in[] = {SCALAR("v", dtype)};
    const struct infer_model m = MODEL(in, one_out);
    char text[256], header[8];
    int n = snprintf(text, sizeof text,
                     "{\"inputs\":[{\"name\":\"v\",\"datatype\":\"%s\",\"shape\":[2],"
                     "\"parameters\":{\"binary_data_size\":%zu}}]}",
                     datatype, size);

    memcpy(text + n, bytes, size);
    snprintf(header, sizeof header, "%d", n);
    return parse(&m, "application/octet-stream", header, text, (size_t)n + size);
}

static void binary_numbers_of_another_datatype_are_exact(void **state)
{
    static const float narrow[] = {0.1F, (float)NAN};
    static const double exact[] = {1.5, (double)INFINITY}, fine[] = {1.5, 0.1};
    static const double whole[] = {-128, 127}, large[] = {0, 128};
    static const int64_t ids[] = {-3, INT64_C(1) << 53}, odd[] = {0, 9007199254740993};
    static const uint64_t most[] = {0, UINT64_MAX}, high[] = {0, UINT64_C(1) << 63};

    (void)state;
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT64, "FP32", narrow, 8), 0);
    assert_true(((const double *)q.inputs[0].bytes)[0] == (double)0.1F);
    assert_true(isnan(((const double *)q.inputs[0].bytes)[1]));
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT32, "FP64", exact, 16), 0);
    assert_true(((const float *)q.inputs[0].bytes)[0] == 1.5F);
    assert_true(isinf(((const float *)q.inputs[0].bytes)[1]));
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT32, "FP64", fine, 16), -1);
    refusal_is(400, "element 1 of input \"v\" has no exact number in FP32");
    assert_int_equal(binary_parse(RAYTRAIN_INT8, "FP64", whole, 16), 0);
    assert_memory_equal(q.inputs[0].bytes, "\200\177", 2);
    assert_int_equal(binary_parse(RAYTRAIN_INT8, "FP64", large, 16), -1);
    assert_int_equal(binary_parse(RAYTRAIN_INT64, "FP64", exact, 16), -1);
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT64, "INT64", ids, 16), 0);
    assert_true(((const double *)q.inputs[0].bytes)[0] == -3);
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT64, "INT64", odd, 16), -1);
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT64, "UINT64", most, 16), -1);
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT64, "UINT64", high, 16), 0);
    assert_int_equal(binary_parse(RAYTRAIN_INT64, "UINT64", high, 16), -1);
    assert_int_equal(binary_parse(RAYTRAIN_UINT64, "INT64", ids, 16), -1);
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT64, "FP32", narrow, 7), -1);
    assert_int_equal(binary_parse(RAYTRAIN_FLOAT32, "BOOL", "\1", 2), 0);
    assert_true(((const float *)q.inputs[0].bytes)[0] == 1);
}

static void dimensions_of_one_may_be_there_or_not(void **state)
{
    (void)state;
    assert_int_equal(scalars_parse(RAYTRAIN_INT8, "INT8", "[2,1]", "[[1],[2]]"), 0);
    assert_memory_equal(q.inputs[0].bytes, "\1\2", 2);
    assert_int_equal(scalars_parse(RAYTRAIN_INT8, "INT8", "[2,1]", "[1,2]"), 0);
    assert_int_equal(scalars_parse(RAYTRAIN_INT8, "INT8", "[1,2]", "[1,2]"), -1);
    taken(&one, X("[1,3,1]", DATA("[[[1],[2],[3]]]")));
    taken(&one, X("[2,1,3]", DATA("[1,2,3,4,5,6]")));
    assert_int_equal(q.rows, 2);
}

static void a_request_without_rows_is_refused(void **state)
{
    (void)state;
    refused(&one, X("[0,3]", DATA("[]")), 400, "input \"x\" has no rows");
    refused(&one, "{\"inputs\":[]}", 400,
            "input \"x\" is missing: the model takes FP32 "
            "with shape [N, 3]");
}

/* No memory is taken for what the shape only claims. */
static void sizes_that_are_not_there_are_refused(void **state)
{
    (void)state;
    refused(&one, X("[1000000000000,3]", DATA("[1,2,3]")), 400, "fewer elements");
    refused(&one, X("[9223372036854775807,3]", DATA("[1,2,3]")), 400, "fewer elements");
    refused(&one, X("[99999999999999999999,3]", DATA("[1,2,3]")), 400, "64 bits");
    refused(&pair,
            "{\"inputs\":[{\"name\":\"note\",\"datatype\":\"BYTES\",\"shape\":["
            "9223372036854775807],\"data\":[\"a\"]}]}",
            400, "fewer elements");
}

static void limits_on_rows_and_bytes_hold(void **state)
{
    (void)state;
    limits.rows = 2;
    taken(&one, X("[2,3]", DATA("[1,2,3,4,5,6]")));
    refused(&one, X("[3,3]", DATA("[1,2,3,4,5,6,7,8,9]")), 413,
            "input \"x\" has 3 rows, and a request may have 2");
    limits = (struct infer_limits){.bytes = 24};
    taken(&one, X("[2,3]", DATA("[1,2,3,4,5,6]")));
    refused(&one, X("[3,3]", DATA("[1,2,3,4,5,6,7,8,9]")), 413, "24");
}

static void names_are_those_of_the_model_once_each(void **state)
{
    (void)state;
#define NAMED(NAME)                                                                    \
    "{\"name\":" NAME ",\"datatype\":\"FP32\",\"shape\":[1,3],\"data\":[1,2,3]}"
    refused(&pair, "{\"inputs\":[" NAMED("\"nite\"") "]}", 400,
            "the model has no input \"nite\"; did you mean \"note\"?");
    refused(&pair, "{\"inputs\":[" NAMED("\"colour\"") "]}", 400,
            "no input \"colour\"; it has 2, of which the first is \"x\"");
    refused(&pair, "{\"inputs\":[" NAMED("\"x\\u0000\"") "]}", 400, "a NUL");
    refused(&pair, "{\"inputs\":[" NAMED("\"x\"") "," NAMED("\"x\"") "]}", 400,
            "input \"x\" is there twice");
    refused(&pair, "{\"inputs\":[" NAMED("\"x\"") "]}", 400,
            "input \"note\" is missing: the model takes BYTES with shape [N]");
    refused(&pair, "{\"inputs\":[{\"datatype\":\"FP32\",\"shape\":[1,3]}]}", 400,
            "input number 1 has no \"name\"");
    refused(&one, "{\"inputs\":[{\"name\":\"x\",\"name\":\"x\"}]}", 400,
            "\"name\" is there twice");
    refused(&one, "{\"inputs\":[],\"inputs\":[]}", 400, "\"inputs\" is there twice");
    refused(&one,
            "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1,3],"
            "\"data\":[1,2,3]}]}",
            400, "input \"x\" has datatype \"BYTES\", and the model takes FP32");
    refused(&one, "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,3],\"data\":[1,2,3]}]}",
            400, "input \"x\" has no \"datatype\"");
    refused(&one, "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"data\":[1]}]}",
            400, "input \"x\" has no \"shape\"");
    refused(&one,
            "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,3]}]}",
            400, "input \"x\" has no data");
    refused(&one, "{\"input\":[]}", 400, "the request has no \"inputs\"");
}

static void inputs_with_other_numbers_of_rows_are_refused(void **state)
{
    (void)state;
    refused(&pair,
            "{\"inputs\":[" NAMED("\"x\"") ",{\"name\":\"note\",\"datatype\":\"BYTES\","
                                           "\"shape\":[2],\"data\":[\"a\",\"b\"]}]}",
            400, "input \"note\" has 2 rows, and input \"x\" has 1");
}

#define NOTES(SHAPE, LIST)                                                             \
    "{\"inputs\":[{\"name\":\"note\",\"datatype\":\"BYTES\",\"shape\":" SHAPE          \
    ",\"data\":" LIST "}]}"

static void texts_are_any_unicode(void **state)
{
    static const struct infer_column in[] = {TEXT("note")};
    static const struct infer_model m = MODEL(in, one_out);

    (void)state;
    taken(&m,
          NOTES("[4]", "[\"\",\"a\\u0000b\",\"na\303\257ve \\ud83d\\ude00\",\"\\\"\\/"
                       "\\n\\u00e9\\u20ac\"]"));
    assert_int_equal(q.rows, 4);
    text_is(&q.inputs[0], 0, "", 0);
    text_is(&q.inputs[0], 1, "a\0b", 3);
    text_is(&q.inputs[0], 2, "na\303\257ve \360\237\230\200", 11);
    text_is(&q.inputs[0], 3, "\"/\n\303\251\342\202\254", 8);
    refused(&m, NOTES("[1]", "[\"\377\"]"), 400, "a string is not UTF-8");
    refused(&m, NOTES("[1]", "[\"\303\"]"), 400, "a string is not UTF-8");
    refused(&m, NOTES("[1]", "[\"\\ud83d\"]"), 400, "surrogate");
    refused(&m, NOTES("[1]", "[\"\\ude00\"]"), 400, "surrogate");
    refused(&m, NOTES("[1]", "[\"\\ud83d\\u0041\"]"), 400, "surrogate");
    refused(&m, NOTES("[1]", "[\"\\u12g4\"]"), 400, "four digits");
    refused(&m, NOTES("[1]", "[\"\\x\"]"), 400, "a backslash has no meaning");
    refused(&m, NOTES("[1]", "[\"a\nb\"]"), 400, "a control character");
    refused(&m, NOTES("[1]", "[1]"), 400,
            "element 0 of input \"note\" is a number: BYTES takes strings");
    refused(&m, NOTES("[1,2]", "[\"a\",\"b\"]"), 400, "the model takes [N]");
    taken(&m, NOTES("[2,1]", "[[null],[\"b\"]]"));
    text_is(&q.inputs[0], 0, "", 0);
    text_is(&q.inputs[0], 1, "b", 1);
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
    static const char *const texts[] = {"[]",
                                        "{",
                                        "{\"inputs\":[{",
                                        "{\"inputs\"}",
                                        "{\"id\":\"",
                                        "{\"inputs\":[",
                                        "{\"inputs\":[}",
                                        "{inputs:[]}",
                                        "{\"id\":1}",
                                        "{\"a\":tru}",
                                        "{\"a\":[1,}",
                                        "nonsense",
                                        "{\"a\":\"\\",
                                        "\377",
                                        "{\"\377\":1}",
                                        "{\"inputs\":[]}}",
                                        "{\"a\":1,}",
                                        "{\"inputs\":[{\"data\":[\"a\\"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused(&one, texts[i], 400, "wrong at byte");
    refused(&one, "", 400, "no body");
    assert_int_equal(parse(&one, NULL, NULL, "{\"a\0", 4), -1);
    refusal_is(400, "wrong at byte");
}

static void a_number_or_a_word_that_json_does_not_have_is_called_so(void **state)
{
    static const struct {
        const char *value, *words;
    } wrong[] = {
        {"01", "a number has a leading zero"},
        {"-00.5", "a number has a leading zero"},
        {"1.", "a number has no digit after its point"},
        {"1.e5", "a number has no digit after its point"},
        {"1e", "a number has no digit in its exponent"},
        {"1.5E+", "a number has no digit in its exponent"},
        {"-", "a '-' is not followed by a digit"},
        {"-x", "a '-' is not followed by a digit"},
        {"-.5", "a '-' is not followed by a digit"},
        {".5", "there should be a number, and it is not a value"},
        {"+1", "there should be a number, and it is not a value"},
        {"nul", "there should be a value, and it is a word that JSON does not have"},
        {"tru", "and it is a word that JSON does not have"},
        {"flase", "and it is a word that JSON does not have"},
        {"Nil", "and it is a word that JSON does not have"},
        {"NaN", "there should be a number, and it is NaN"},
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "{\"parameters\":{\"a\":[1, %s]},\"inputs\":[]}",
                 wrong[i].value);
        refused(&one, text, 400, wrong[i].words);
    }
    refused(&one, X("[1,3]", DATA("[1,02,3]")), 400, "a number has a leading zero");
    refused(&one, X("[1,3]", DATA("[1,2.,3]")), 400, "no digit after its point");
    refused(&one, X("[01,3]", DATA("[1,2,3]")), 400, "a number has a leading zero");
}

/* Each byte of a request is left out from here on. */
static void a_request_that_is_cut_off_is_refused_wherever_it_is(void **state)
{
    static const char text[] =
        "{\"id\":\"\\u00e9\",\"parameters\":{\"a\":[null,true,{\"b\":-1.5e3}]},"
        "\"inputs\":"
        "[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,3],\"data\":[[1,2,3]]}],"
        "\"outputs\":[{\"name\":\"y\"}]}";

    (void)state;
    taken(&one, text);
    assert_string_equal(q.id, "\303\251");
    for (size_t n = 0; n < sizeof text - 1; n++) {
        assert_int_equal(parse(&one, NULL, NULL, text, n), -1);
        assert_int_equal(why.status, 400);
    }
}

static void deep_json_is_refused(void **state)
{
    char text[3000] = "{\"a\":";
    size_t n = strlen(text);

    (void)state;
    memset(text + n, '[', 2000);
    refused(&one, text, 400, "more than 64 deep");
    for (size_t i = 0; i < 300; i++)
        memcpy(text + n + 5 * i, "{\"a\":", 5);
    refused(&one, text, 400, "more than 64 deep");
    n = (size_t)sprintf(text, "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\","
                              "\"shape\":[1,3],\"data\":");
    memset(text + n, '[', 2000);
    text[n + 2000] = '\0';
    refused(&one, text, 400, "more than 64 deep");
}

static void other_members_are_not_looked_at(void **state)
{
    (void)state;
    taken(&one,
          "{\"model\":{\"x\":[1,{}]},\"parameters\":{\"priority\":1},\"inputs\":[{"
          "\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,3],\"data\":[1,2,3],"
          "\"parameters\":{\"unit\":\"m\"},\"comment\":null}]}");
    assert_null(q.id);
}

static void an_id_is_a_short_string(void **state)
{
    char text[3000] = "{\"id\":\"";

    (void)state;
    memset(text + strlen(text), 'a', 1025);
    strcat(text, "\",\"inputs\":[]}");
    refused(&one, text, 400, "\"id\" has more than 1024 bytes");
    refused(&one, "{\"id\":\"a\\u0000\",\"inputs\":[]}", 400, "a NUL");
    refused(&one, "{\"id\":7,\"inputs\":[]}", 400, "a string, and it is a number");
}

/* ---- Outputs ---- */

#define PAIR_INPUTS                                                                    \
    "\"inputs\":[" NAMED("\"x\"") ",{\"name\":\"note\",\"datatype\":\"BYTES\","        \
                                  "\"shape\":[1],\"data\":[\"a\"]}]"

static void outputs_are_those_asked_for_in_their_order(void **state)
{
    (void)state;
    taken(&pair, "{\"outputs\":[{\"name\":\"label\"},{\"name\":\"probability\","
                 "\"parameters\":{\"binary_data\":true}}]," PAIR_INPUTS "}");
    assert_int_equal(q.n_outputs, 2);
    assert_int_equal(q.outputs[0].column, 1);
    assert_false(q.outputs[0].binary);
    assert_int_equal(q.outputs[1].column, 0);
    assert_true(q.outputs[1].binary);
    taken(&pair, "{" PAIR_INPUTS ",\"outputs\":[{\"name\":\"label\",\"parameters\":{"
                 "\"binary_data\":false}},{\"name\":\"half\"}],\"parameters\":{"
                 "\"binary_data_output\":true}}");
    assert_int_equal(q.n_outputs, 2);
    assert_false(q.outputs[0].binary);
    assert_true(q.outputs[1].binary);
    taken(&pair, "{\"parameters\":{\"binary_data_output\":true}," PAIR_INPUTS "}");
    assert_int_equal(q.n_outputs, 3);
    assert_int_equal(q.outputs[2].column, 2);
    assert_true(q.outputs[2].binary);
}

static void outputs_that_the_model_has_not_are_refused(void **state)
{
    (void)state;
    refused(&pair, "{\"outputs\":[{\"name\":\"lable\"}]," PAIR_INPUTS "}", 400,
            "no output \"lable\"; did you mean \"label\"?");
    refused(&pair, "{\"outputs\":[{\"name\":\"label\"},{\"name\":\"label\"}]}", 400,
            "output \"label\" is there twice");
    refused(&pair, "{" PAIR_INPUTS "}", 400,
            "output \"half\" is BF16, which JSON has no notation for");
    refused(&pair,
            "{\"outputs\":[{\"name\":\"label\",\"parameters\":{\"classification\":"
            "3}}]," PAIR_INPUTS "}",
            400, "the service has no \"classification\"");
    refused(&pair,
            "{\"outputs\":[{\"name\":\"label\",\"parameters\":{\"binary_data\":1}}]"
            "}",
            400, "true or false, and it is a number");
}

/* ---- Binary data ---- */

/* A request with its header length, from JSON and bytes. */
static int parse_binary(const struct infer_model *m, const char *json,
                        const void *bytes, size_t n)
{
    static char body[4096];
    char header[32];
    size_t length = strlen(json);

    snprintf(header, sizeof header, "%zu", length);
    memcpy(body, json, length);
    memcpy(body + length, bytes, n);
    return parse(m, "application/octet-stream", header, body, length + n);
}

#define BINARY(NAME, DATATYPE, SHAPE, SIZE)                                            \
    "{\"name\":\"" NAME "\",\"datatype\":\"" DATATYPE "\",\"shape\":" SHAPE            \
    ",\"parameters\":{\"binary_data_size\":" SIZE "}}"
#define LABEL "\"outputs\":[{\"name\":\"label\"}]"

static void binary_and_json_data_may_be_mixed(void **state)
{
    static const char bytes[] = "\1\0\0\0a\0\0\0\0\0\0\200\077\0\0\300\177\0\0\200\377"
                                "\0\0\0\0\0\0\0\0\0\0\0\0";
    static const float ones[] = {1, 1, 1, 1, 1, 1};

    (void)state;
    /* The binary data are in the order of the request, not of the model. */
    assert_int_equal(parse_binary(&pair,
                                  "{" LABEL ",\"inputs\":[" BINARY(
                                      "note", "BYTES", "[2]",
                                      "9") "," BINARY("x", "FP32", "[2,3]", "24") "]}",
                                  bytes, 33),
                     0);
    text_is(&q.inputs[1], 0, "a", 1);
    text_is(&q.inputs[1], 1, "", 0);
    assert_memory_equal(q.inputs[0].bytes, bytes + 9, 24); /* with NaN and infinity */
    assert_int_equal(
        parse_binary(&pair,
                     "{" LABEL ",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\","
                     "\"shape\":[2,3],\"data\":[1,1,1,1,1,1]}," BINARY("note", "BYTES",
                                                                       "[2]", "9") "]}",
                     bytes, 9),
        0);
    x_is(ones, 6);
    text_is(&q.inputs[1], 0, "a", 1);
}

static void binary_data_that_do_not_match_are_refused(void **state)
{
    static const char zeros[64];

    (void)state;
#define WRONG_BINARY(JSON, N, WORDS)                                                   \
    assert_int_equal(parse_binary(&one, JSON, zeros, N), -1);                          \
    refusal_is(400, WORDS)
    WRONG_BINARY("{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "12") "]}", 11,
                 "input \"x\" has a binary_data_size of 12, and the body has 11 bytes");
    WRONG_BINARY("{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "12") "]}", 13,
                 "1 bytes of binary data after");
    WRONG_BINARY("{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "16") "]}", 16,
                 "binary_data_size of 16, and its shape [1, 3] takes 12 bytes");
    WRONG_BINARY("{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "-12") "]}", 12,
                 "a binary_data_size is less than 0");
    WRONG_BINARY("{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "1e30") "]}", 12,
                 "an integer of 64 bits");
    WRONG_BINARY(
        "{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "9223372036854775807") "]}", 12,
        "the body has 12 bytes left");
    WRONG_BINARY(
        "{\"inputs\":[" BINARY("x", "FP32", "[6148914691236517206,3]", "24") "]}", 24,
        "binary_data_size of 24, and its shape");
    WRONG_BINARY("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,3],"
                 "\"data\":[1,2,3],\"parameters\":{\"binary_data_size\":12}}]}",
                 12, "both \"data\" and binary data");
    WRONG_BINARY("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,3],"
                 "\"parameters\":{\"shared_memory_region\":\"r\"}}]}",
                 12, "no \"shared_memory_region\"");
    refused(&one, "{\"inputs\":[" BINARY("x", "FP32", "[1,3]", "12") "]}", 400,
            "the request no header Inference-Header-Content-Length");
}

static void binary_texts_that_are_cut_off_are_refused(void **state)
{
    static const struct infer_column in[] = {TEXT("note")};
    static const struct infer_model m = MODEL(in, one_out);
    static const struct {
        const char *shape, *bytes;
        size_t n;
        const char *words;
    } wrong[] = {
        {"[1]", "\2\0\0\0a", 5, "text 0 of input \"note\" goes beyond"},
        {"[1]", "\377\377\377\377a", 5, "goes beyond"},
        {"[2]", "\1\0\0\0a\0\0\0", 8, "text 0 of input \"note\" goes beyond"},
        {"[2]", "\4\0\0\0abcd", 8, "text 0 of input \"note\" goes beyond"},
        {"[1]", "\0\0\0\0a", 5, "1 bytes of binary data after its last text"},
        {"[3]", "\0\0\0\0\0\0\0\0", 8, "too small"},
        {"[9223372036854775807]", "\0\0\0\0", 4, "too small"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[256];

        snprintf(json, sizeof json,
                 "{\"inputs\":[{\"name\":\"note\",\"datatype\":\"BYTES\",\"shape\":%s,"
                 "\"parameters\":{\"binary_data_size\":%zu}}]}",
                 wrong[i].shape, wrong[i].n);
        assert_int_equal(parse_binary(&m, json, wrong[i].bytes, wrong[i].n), -1);
        refusal_is(400, wrong[i].words);
    }
}

static void a_header_length_is_a_number_within_the_body(void **state)
{
    static const char *const wrong[] = {"-1", "x", "", "1x", "99999999999999999999",
                                        " 1", "+1"};
    static const char text[] = X("[1,3]", DATA("[1,2,3]"));
    char length[32];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(parse(&one, NULL, wrong[i], text, strlen(text)), -1);
        refusal_is(400, "Inference-Header-Content-Length is \"");
    }
    snprintf(length, sizeof length, "%zu", strlen(text));
    assert_int_equal(parse(&one, NULL, length, text, strlen(text)), 0);
    snprintf(length, sizeof length, "%zu", strlen(text) + 1);
    assert_int_equal(parse(&one, NULL, length, text, strlen(text)), -1);
    refusal_is(400, "and the body has");
}

static void content_types_are_json_or_csv(void **state)
{
    static const char text[] = X("[1,3]", DATA("[1,2,3]"));

    (void)state;
    assert_int_equal(
        parse(&one, "Application/JSON; charset=utf-8", NULL, text, strlen(text)), 0);
    assert_int_equal(
        parse(&one, "application/x-www-form-urlencoded", NULL, text, strlen(text)), 0);
    assert_int_equal(parse(&one, NULL, NULL, text, strlen(text)), 0);
    assert_int_equal(parse(&one, "image/png", NULL, text, strlen(text)), -1);
    refusal_is(415, "does not read \"image/png\"");
}

/* ---- CSV ---- */

static const struct infer_column table_in[] = {
    SCALAR("age", RAYTRAIN_FLOAT64), TEXT("note"), NUMBERS("v", RAYTRAIN_INT16, 2),
    SCALAR("flag", RAYTRAIN_UINT8)};
static const struct infer_model table = MODEL(table_in, one_out);

static void csv_taken(const char *text)
{
    if (parse(&table, "text/csv", NULL, text, strlen(text)) < 0)
        fail_msg("%s: %s", text, why.text);
}

static void csv_refused(const char *text, int status, const char *words)
{
    assert_int_equal(
        parse(&table, "text/csv; header=present", NULL, text, strlen(text)), -1);
    refusal_is(status, words);
}

static void csv_has_columns_in_any_order_and_others(void **state)
{
    static const int16_t v[] = {1, 2, -3, 4};
    const double *age;

    (void)state;
    csv_taken("age,note,v_0,v_1,flag\nNA,NA,TRUE,False,true\n n/a ,b,1,2,0\n");
    age = q.inputs[0].bytes;
    assert_true(isnan(age[0]) && isnan(age[1]));
    text_is(&q.inputs[1], 0, "NA", 2);
    assert_memory_equal(q.inputs[2].bytes, "\1\0\0\0", 4);
    csv_taken("\357\273\277v_1,extra,note,\"flag\",v_0,age\r\n"
              "2,?,\"a \"\"quoted\"\", text\",true,1,1.5\r\n"
              "\r\n"
              "4e0,\"two\nlines\",, 0 ,-3,\n");
    assert_int_equal(q.rows, 2);
    age = q.inputs[0].bytes;
    assert_true(age[0] == 1.5 && isnan(age[1]));
    text_is(&q.inputs[1], 0, "a \"quoted\", text", 16);
    text_is(&q.inputs[1], 1, "", 0);
    assert_memory_equal(q.inputs[2].bytes, v, sizeof v);
    assert_memory_equal(q.inputs[3].bytes, "\1\0", 2);
    assert_int_equal(q.n_outputs, 1);
}

static void fields_of_csv_are_missing_as_the_model_says(void **state)
{
    static char *const texts[] = {(char *)"-9", (char *)"?"};
    struct infer_model listed = table;
    const char *rows = "age,note,v_0,v_1,flag\n-9,-9,1,2,0\n?,b,1,2,0\n,b,1,2,0\n",
               *usual = "age,note,v_0,v_1,flag\nNA,b,1,2,0\n";
    const double *age;

    (void)state;
    listed.missing = (struct missing_texts){texts, 2};
    if (parse(&listed, "text/csv", NULL, rows, strlen(rows)) < 0)
        fail_msg("%s", why.text);
    age = q.inputs[0].bytes;
    assert_true(isnan(age[0]) && isnan(age[1]) && isnan(age[2]));
    text_is(&q.inputs[1], 0, "-9", 2);
    assert_int_equal(parse(&listed, "text/csv", NULL, usual, strlen(usual)), -1);
    refusal_is(400, "\"NA\" in input \"age\"");
}

static void csv_that_lacks_something_is_refused(void **state)
{
    (void)state;
    csv_refused("\n\n", 400, "the CSV has no header");
    csv_refused("age,v_0,v_1,flag\n1,2,3,0\n", 400, "the CSV has no column \"note\"");
    csv_refused("age,note,v_0,flag\n1,a,3,0\n", 400,
                "1 of the 2 columns of input \"v\": they are v_0 to v_1");
    csv_refused("age,note,v_0,v_2,flag\n1,a,3,3,0\n", 400, "1 of the 2 columns");
    csv_refused("age,note,v_0,v_0,flag\n1,a,3,3,0\n", 400, "input \"v\" twice");
    csv_refused("age,age,note,v_0,v_1,flag\n", 400, "input \"age\" twice");
    csv_refused("age,note,v_0,v_1,flag\n", 400, "has no rows");
    csv_refused("age,note,v_0,v_1,flag\n1,a,3,4\n", 400,
                "row 0 of the CSV has 4 fields, and its header 5");
    csv_refused("age,note,v_0,v_1,flag\n1,a,3,4,0,6\n", 400, "6 fields");
    csv_refused("age,note,v_0,v_1,flag\n1,\"a,3,4,0\n", 400, "inside quotes");
    csv_refused("age,\"note,v_0,v_1,flag\n", 400, "inside quotes");
}

static void csv_values_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    csv_refused(
        "age,note,v_0,v_1,flag\n1,a,3,4,0\nold,a,3,4,0\n", 400,
        "row 1 of the CSV has \"old\" in input \"age\", which FP64 cannot hold: it "
        "has numbers");
    csv_refused("age,note,v_0,v_1,flag\n1,a,3.5,4,0\n", 400, "INT16 cannot hold");
    csv_refused("age,note,v_0,v_1,flag\n1,a,,4,0\n", 400, "INT16 cannot hold");
    csv_refused("age,note,v_0,v_1,flag\n1,a,3,99999,0\n", 400, "INT16 cannot hold");
    csv_refused("age,note,v_0,v_1,flag\n1,a,3,4,256\n", 400, "UINT8 cannot hold");
    limits.rows = 1;
    csv_refused("age,note,v_0,v_1,flag\n1,a,3,4,0\n1,a,3,4,0\n", 413, "2 rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(flat_and_nested_data_are_the_same_rows),
        TEST(columns_of_more_dimensions_are_nested_to_the_last),
        TEST(every_datatype_is_taken_in_json_and_in_binary),
        TEST(numbers_that_a_datatype_cannot_hold_are_refused),
        TEST(an_element_that_is_wrong_is_named_by_its_number),
        TEST(counts_that_do_not_match_the_shape_are_refused),
        TEST(shapes_that_are_not_the_models_are_refused),
        TEST(null_is_a_missing_number_or_an_empty_text),
        TEST(numbers_of_another_datatype_are_taken),
        TEST(binary_numbers_of_another_datatype_are_exact),
        TEST(dimensions_of_one_may_be_there_or_not),
        TEST(a_request_without_rows_is_refused),
        TEST(sizes_that_are_not_there_are_refused),
        TEST(limits_on_rows_and_bytes_hold),
        TEST(names_are_those_of_the_model_once_each),
        TEST(inputs_with_other_numbers_of_rows_are_refused),
        TEST(texts_are_any_unicode),
        TEST(what_is_no_json_is_refused_with_its_place),
        TEST(a_number_or_a_word_that_json_does_not_have_is_called_so),
        TEST(a_request_that_is_cut_off_is_refused_wherever_it_is),
        TEST(deep_json_is_refused),
        TEST(other_members_are_not_looked_at),
        TEST(an_id_is_a_short_string),
        TEST(outputs_are_those_asked_for_in_their_order),
        TEST(outputs_that_the_model_has_not_are_refused),
        TEST(binary_and_json_data_may_be_mixed),
        TEST(binary_data_that_do_not_match_are_refused),
        TEST(binary_texts_that_are_cut_off_are_refused),
        TEST(a_header_length_is_a_number_within_the_body),
        TEST(content_types_are_json_or_csv),
        TEST(csv_has_columns_in_any_order_and_others),
        TEST(fields_of_csv_are_missing_as_the_model_says),
        TEST(csv_that_lacks_something_is_refused),
        TEST(csv_values_that_do_not_fit_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
