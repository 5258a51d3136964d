/* test_equal_lines.c - lines that several ranks print are passed on once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "show/equal_lines.h"
#include "util/rank_list.h"

#define WORKERS 8

static char seen[8192];

static void note(void *arg, bool is_error, const bool in[], int n_in, const char *text,
                 size_t n)
{
    char ranks[RANK_LIST_MAX];
    size_t used = strlen(seen);

    (void)arg;
    (void)n_in;
    snprintf(seen + used, sizeof seen - used, "%s%s: %.*s|", is_error ? "!" : "",
             rank_list(in, WORKERS, ranks), (int)n, text);
}

static void add(struct equal_lines *e, int rank, const char *text)
{
    equal_lines_add(e, rank, false, text, strlen(text));
}

static void a_line_of_all_ranks_is_passed_on_at_once(void **state)
{
    struct equal_lines *e = equal_lines_create(WORKERS, WORKERS, note, NULL);

    (void)state;
    seen[0] = '\0';
    for (int rank = WORKERS - 1; rank >= 0; rank--)
        add(e, rank, "loaded");
    assert_string_equal(seen, "ranks 0-7: loaded|");
    assert_true(equal_lines_flush(e, false));
    equal_lines_destroy(e);
}

static void the_lines_of_a_rank_stay_in_order(void **state)
{
    struct equal_lines *e = equal_lines_create(WORKERS, 3, note, NULL);

    (void)state;
    seen[0] = '\0';
    add(e, 0, "a");
    add(e, 0, "b");
    add(e, 1, "b");
    add(e, 1, "a");
    equal_lines_add(e, 0, true, "a", 1);
    add(e, 2, "b");
    assert_false(equal_lines_flush(e, false));
    equal_lines_flush(e, true);
    assert_string_equal(seen, "rank 0: a|ranks 0-2: b|rank 1: a|!rank 0: a|");
    equal_lines_destroy(e);
}

static void a_line_that_a_rank_repeats_is_repeated(void **state)
{
    struct equal_lines *e = equal_lines_create(WORKERS, 2, note, NULL);

    (void)state;
    seen[0] = '\0';
    add(e, 0, "a");
    add(e, 0, "a");
    add(e, 1, "a");
    equal_lines_flush(e, true);
    assert_string_equal(seen, "ranks 0-1: a|rank 0: a|");
    equal_lines_destroy(e);
}

static void no_more_than_a_bounded_number_waits(void **state)
{
    struct equal_lines *e = equal_lines_create(WORKERS, 2, note, NULL);
    char line[16];

    (void)state;
    seen[0] = '\0';
    for (int i = 0; i < 520; i++) {
        snprintf(line, sizeof line, "%d", i);
        add(e, 0, line);
    }
    assert_non_null(strstr(seen, "rank 0: 7|"));
    equal_lines_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_all_ranks_is_passed_on_at_once),
        cmocka_unit_test(the_lines_of_a_rank_stay_in_order),
        cmocka_unit_test(a_line_that_a_rank_repeats_is_repeated),
        cmocka_unit_test(no_more_than_a_bounded_number_waits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
