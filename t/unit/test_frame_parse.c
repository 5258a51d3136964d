/* Rows that a command's process sends: every part of the message may be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/frame_parse.h"

#define ROWS        3
#define WORDS       64 /* where the codes are in the block */
#define TEXTS       32 /* and the words, "blue" and "a\0b" */
#define TEXTS_BYTES 15

static const float numbers[ROWS * 2] = {1, 2, 3, 4, 5, 6};
static const int32_t codes[ROWS] = {1, -1, 0};
static const char first[] = "blue", second[] = "a\0b";

static struct error err;

static json_t *json_of(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    return json;
}

/* The outcome, with the block in memory of exactly n bytes. */
static int parse(const char *columns, const char *places, uint64_t rows,
                 const unsigned char *block, size_t n, struct parsed_frame *out)
{
    json_t *c = json_of(columns), *p = json_of(places);
    unsigned char *copy = malloc(n ? n : 1);
    int rc;

    memcpy(copy, block, n);
    err.code = RAYTRAIN_OK;
    rc = frame_parse(c, p, rows, &(struct wire_block){copy, n}, out, &err);
    free(copy);
    json_decref(c);
    json_decref(p);
    return rc;
}

#define COLUMNS                                                                        \
    "[{\"name\": \"x\", \"kind\": \"numbers\", \"dtype\": \"float32\", \"shape\": "    \
    "[2]}, {\"name\": \"w\", \"kind\": \"words\", \"words\": [32, 15]}]"
#define PLACES "[[0], [64]]"

static void word_put(unsigned char *at, const char *word, uint32_t n)
{
    memcpy(at, &n, sizeof n);
    memcpy(at + sizeof n, word, n);
}

static size_t block_make(unsigned char block[WORDS + sizeof codes])
{
    memset(block, 0, WORDS);
    memcpy(block, numbers, sizeof numbers);
    word_put(block + TEXTS, first, sizeof first - 1);
    word_put(block + TEXTS + 8, second, sizeof second - 1);
    memcpy(block + WORDS, codes, sizeof codes);
    return WORDS + sizeof codes;
}

static void assert_refused(const char *columns, const char *places, uint64_t rows,
                           const unsigned char *block, size_t n)
{
    struct parsed_frame f;

    if (parse(columns, places, rows, block, n, &f) == 0)
        fail_msg("%s, %s: %llu rows in %zu bytes are taken", columns, places,
                 (unsigned long long)rows, n);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    parsed_frame_clear(&f);
}

static void rows_become_a_frame(void **state)
{
    unsigned char block[WORDS + sizeof codes];
    size_t n = block_make(block), length;
    struct parsed_frame f;

    (void)state;
    assert_int_equal(parse(COLUMNS, PLACES, ROWS, block, n, &f), 0);
    assert_int_equal(f.frame.rows, ROWS);
    assert_int_equal(f.frame.n_columns, 2);
    assert_memory_equal(f.frame.columns[0].data, numbers, sizeof numbers);
    assert_memory_equal(f.frame.columns[1].data, codes, sizeof codes);
    assert_string_equal(dictionary_word(f.frame.columns[1].words, 0, &length), "blue");
    assert_memory_equal(dictionary_word(f.frame.columns[1].words, 1, &length), second,
                        sizeof second);
    assert_int_equal(length, sizeof second - 1);
    parsed_frame_clear(&f);
    assert_int_equal(parse("[]", "[]", 0, block, 0, &f), 0);
    parsed_frame_clear(&f);
    assert_int_equal(parse(COLUMNS, PLACES, 0, block, WORDS, &f), 0);
    parsed_frame_clear(&f);
}

/* Every byte counts: the block ends with the last code. */
static void a_block_that_is_cut_off_is_refused(void **state)
{
    unsigned char block[WORDS + sizeof codes];
    size_t n = block_make(block);

    (void)state;
    for (size_t less = 0; less < n; less++)
        assert_refused(COLUMNS, PLACES, ROWS, block, less);
}

/* Lengths with one changed bit, and products that wrap around. */
static void numbers_of_rows_that_do_not_fit_are_refused(void **state)
{
    unsigned char block[WORDS + sizeof codes];
    size_t n = block_make(block);
    struct parsed_frame f;

    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t rows = ROWS ^ UINT64_C(1) << bit;

        if (rows > ROWS)
            assert_refused(COLUMNS, PLACES, rows, block, n);
        else if (parse(COLUMNS, PLACES, rows, block, n, &f) < 0)
            fail_msg("%s", err.text);
        else
            parsed_frame_clear(&f);
    }
    assert_refused(COLUMNS, PLACES, UINT64_MAX / 4 + 2, block, n);
    assert_refused(COLUMNS, PLACES, UINT64_MAX, block, n);
}

static void places_outside_of_the_block_are_refused(void **state)
{
    static const char *const PLACES_OF[] = {
        "[[0], [65]]",
        "[[53], [64]]",
        "[[-1], [64]]",
        "[[0], [-64]]",
        "[[9223372036854775807], [64]]",
        "[[0], [-9223372036854775807]]",
        "[[0]]",
        "[]",
        "{}",
        "[0, 64]",
        "[[], []]",
        "[[0.0], [64]]",
        "[[\"0\"], [64]]",
        "[[null], [64]]",
    };
    unsigned char block[WORDS + sizeof codes];
    size_t n = block_make(block);

    (void)state;
    for (size_t i = 0; i < sizeof PLACES_OF / sizeof *PLACES_OF; i++)
        assert_refused(COLUMNS, PLACES_OF[i], ROWS, block, n);
}

#define NUMBERS(dtype, shape)                                                          \
    "[{\"name\": \"x\", \"dtype\": " dtype ", \"shape\": " shape "}]"

static void columns_that_cannot_be_are_refused(void **state)
{
    static const char *const COLUMNS_OF[] = {
        "[]",
        "[5]",
        "[null]",
        "[[]]",
        "[{}]",
        "[{\"name\": 5}]",
        "[{\"name\": \"\"}]",
        "[{\"name\": \"x\"}]",
        NUMBERS("\"float\"", "[]"),
        NUMBERS("4", "[]"),
        NUMBERS("\"int8\"", "[0]"),
        NUMBERS("\"int8\"", "[1, -1]"),
        NUMBERS("\"int8\"", "[\"2\"]"),
        NUMBERS("\"int8\"", "[4294967296, 4294967296]"),
        NUMBERS("\"int8\"", "[9223372036854775807, 2, 2]"),
        NUMBERS("\"int8\"", "[1, 1, 1, 1, 1, 1, 1, 1, 1]"),
        "[{\"name\": \"w\", \"words\": [\"a\", 5]}]",
        "[{\"name\": \"w\", \"words\": [0]}]",
        "[{\"name\": \"w\", \"words\": [-1, 4]}]",
        "[{\"name\": \"w\", \"words\": [0, -4]}]",
        "[{\"name\": \"w\", \"words\": [61, 4]}]",
        "[{\"name\": \"w\", \"words\": [65, 0]}]",
        "[{\"name\": \"w\", \"words\": [9223372036854775807, 4]}]",
        "[{\"name\": \"w\", \"words\": [0, 8]}]", /* the empty word twice */
        ("[{\"name\": \"x\", \"dtype\": \"int8\"}, "
         "{\"name\": \"x\", \"dtype\": \"int8\"}]"),
    };
    static const unsigned char block[64];
    char longer[RAYTRAIN_NAME_MAX + 64];

    (void)state;
    for (size_t i = 0; i < sizeof COLUMNS_OF / sizeof *COLUMNS_OF; i++)
        assert_refused(COLUMNS_OF[i], "[[0], [0]]", 1, block, sizeof block);
    snprintf(longer, sizeof longer, "[{\"name\": \"%0*d\", \"dtype\": \"int8\"}]",
             RAYTRAIN_NAME_MAX + 1, 0);
    assert_refused(longer, "[[0]]", 1, block, sizeof block);
}

static void codes_of_no_word_are_refused(void **state)
{
    static const int32_t BAD[] = {2, -2, INT32_MAX, INT32_MIN};
    unsigned char block[WORDS + sizeof codes];
    size_t n = block_make(block);

    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        for (size_t row = 0; row < ROWS; row++) {
            block_make(block);
            memcpy(block + WORDS + row * sizeof *BAD, &BAD[i], sizeof *BAD);
            assert_refused(COLUMNS, PLACES, ROWS, block, n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_a_frame),
        cmocka_unit_test(a_block_that_is_cut_off_is_refused),
        cmocka_unit_test(numbers_of_rows_that_do_not_fit_are_refused),
        cmocka_unit_test(places_outside_of_the_block_are_refused),
        cmocka_unit_test(columns_that_cannot_be_are_refused),
        cmocka_unit_test(codes_of_no_word_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
