/* size, suggest, quote: tables of what users type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/quote.h"
#include "util/size.h"
#include "util/suggest.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},           {"4096", 4096},       {"17B", 17},
        {"1k", 1024},       {"1KB", 1024},        {"1KiB", 1024},
        {"4G", 4ull << 30}, {"1.5M", 3 << 19},    {"0.001K", 1},
        {"2t", 2ull << 40}, {"15E", 15ull << 60}, {"18446744073709551615", UINT64_MAX},
    };
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(size_parse(rows[i].text, &bytes, NULL), 0);
        assert_true(bytes == rows[i].bytes);
    }
}

static void sizes_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "G",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1 G",
        "4X",
        "4GG",
        "1.",
        "1.G",
        ".5G",
        "1e3",
        "0x10",
        "16E",
        "4Bi",
        "4iB",
        "18446744073709551616",
        "1.0000000001G",
    };
    uint64_t bytes = 7;
    struct error err;

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(size_parse(rows[i], &bytes, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        assert_true(bytes == 7);
    }
}

static void sizes_are_written(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1023, "1023"},
        {1024, "1K"},
        {1536, "1.5K"},
        {4ull << 30, "4G"},
        {(4ull << 30) + 1, "4G"},
        {15ull << 60, "15E"},
        {UINT64_MAX, "15.9E"},
    };
    char text[SIZE_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < N(rows); i++)
        assert_string_equal(size_format(rows[i].bytes, text), rows[i].text);
}

static void edit_distances_are_computed(void **state)
{
    char longer[66];

    (void)state;
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("abc", ""), 3);
    assert_int_equal(suggest_distance("num_workers", "Num-Workers"), 0);
    assert_int_equal(suggest_distance("num_wrokers", "num_workers"), 1);
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
    memset(longer, 'a', 65);
    longer[65] = '\0';
    assert_true(suggest_distance(longer, "a") == SIZE_MAX);
}

static void the_nearest_word_is_found(void **state)
{
    static const char *const words[] = {"num_workers", "use_gpu", "cpu", "gpu"};

    (void)state;
    assert_string_equal(suggest_nearest("num_worker", words, N(words)), "num_workers");
    assert_string_equal(suggest_nearest("GPU", words, N(words)), "gpu");
    assert_string_equal(suggest_nearest("usegpu", words, N(words)), "use_gpu");
    assert_null(suggest_nearest("banana", words, N(words)));
    assert_null(suggest_nearest("x", words, N(words)));
    assert_null(suggest_nearest("", words, N(words)));
    assert_null(suggest_nearest("gpu", words, 0));
}

static void words_are_quoted(void **state)
{
    static const struct {
        const char *text, *quoted;
    } rows[] = {
        {"", "\"\""},
        {"a b", "\"a b\""},
        {"a\nb\t\"\\", "\"a\\nb\\t\\\"\\\\\""},
        {"\x01\x1b[31m\x7f", "\"\\x01\\x1b[31m\\x7f\""},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
        {"\xff\xc3", "\"\\xff\\xc3\""},
        {"\xc2\x9bm", "\"\\xc2\\x9bm\""}, /* terminals may take it for ESC [ */
        {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""},
        {"\xc0\x80", "\"\\xc0\\x80\""},
    };
    char out[QUOTE_TEXT_MAX], big[400];

    (void)state;
    for (size_t i = 0; i < N(rows); i++)
        assert_string_equal(quote(rows[i].text, out), rows[i].quoted);
    memset(big, '\n', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    quote(big, out);
    assert_true(strlen(out) < QUOTE_TEXT_MAX);
    assert_string_equal(out + strlen(out) - 4, "...\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(sizes_are_refused),
        cmocka_unit_test(sizes_are_written),
        cmocka_unit_test(edit_distances_are_computed),
        cmocka_unit_test(the_nearest_word_is_found),
        cmocka_unit_test(words_are_quoted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
