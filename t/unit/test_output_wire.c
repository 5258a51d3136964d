/* test_output_wire.c - output of workers on its way, and choices of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/output_wire.h"
#include "util/rank_choice.h"

static void any_bytes_arrive_as_they_were(void **state)
{
    char text[5000], line[OUTPUT_LINE_MAX], got[sizeof text];
    size_t sent = 0, n_got = 0, taken;

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i % 3 == 0 ? i * 7 : i % 3 == 1 ? '\n' : 1);
    while (sent < sizeof text) {
        struct output_piece piece;
        size_t n = output_encode(12, OUTPUT_STDERR, text + sent, sizeof text - sent,
                                 line, &taken);

        assert_true(n <= OUTPUT_LINE_MAX && taken > 0);
        assert_ptr_equal(memchr(line, '\n', n), line + n - 1);
        output_decode(line, n - 1, &piece);
        assert_int_equal(piece.rank, 12);
        assert_int_equal(piece.kind, OUTPUT_STDERR);
        memcpy(got + n_got, piece.text, piece.n);
        n_got += piece.n;
        sent += taken;
    }
    assert_int_equal(n_got, sizeof text);
    assert_memory_equal(got, text, sizeof text);
}

static void other_lines_are_of_no_rank(void **state)
{
    static const char *const others[] = {
        "", "module loaded", "\001", "\0011", "\001x oabc", "\0011 q", "\001-1 oabc"};
    struct output_piece piece;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        output_decode(others[i], strlen(others[i]), &piece);
        assert_int_equal(piece.rank, -1);
        assert_int_equal(piece.n, strlen(others[i]) + 1);
    }
}

static void lost_lines_are_counted(void **state)
{
    char line[OUTPUT_LINE_MAX];
    struct output_piece piece;
    size_t n = output_encode_lost(3, 123456789012, line);

    (void)state;
    output_decode(line, n - 1, &piece);
    assert_int_equal(piece.kind, OUTPUT_LOST);
    assert_true(piece.lost == 123456789012);
}

static void choices_of_ranks(void **state)
{
    static const char *const wrong[] = {"",    "rank1", "-1",         "1-",
                                        "3-1", "1,,2",  "1,",         ",1",
                                        "1 2", "ALL",   "99999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rank_choice_is_valid(wrong[i]));
    assert_true(rank_choice_is_valid("0,3-5"));
    assert_int_equal(rank_choice_count("none", 8), 0);
    assert_int_equal(rank_choice_count("rank0", 8), 1);
    assert_int_equal(rank_choice_count("all", 8), 8);
    assert_int_equal(rank_choice_count("0,3-5", 5), 3);
    assert_false(rank_choice_has("0,3-5", 2));
    assert_true(rank_choice_has("0,3-5", 5));
    assert_false(rank_choice_has(NULL, 0));
    assert_int_equal(rank_choice_highest("7,3-5"), 7);
    assert_int_equal(rank_choice_highest("all"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_arrive_as_they_were),
        cmocka_unit_test(other_lines_are_of_no_rank),
        cmocka_unit_test(lost_lines_are_counted),
        cmocka_unit_test(choices_of_ranks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
