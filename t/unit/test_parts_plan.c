/*
 * test_parts_plan.c - the calls of a library that combine, or copy, the parts of ranks: where
 * windows are, what neighbours exchange, and that the number of calls does not grow with the
 * number of ranks.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/parts_plan.h"

#define SIZE_MAX_HERE 300

/* Like bucket_parts_cut(): cuts at rows of `row` elements. */
static void cuts_fill(size_t cuts[], int size, size_t elements, size_t row)
{
    for (int k = 0; k <= size; k++) {
        size_t even = elements * (size_t)k / (size_t)size;

        cuts[k] = k == size ? elements : (even + row / 2) / row * row;
        if (cuts[k] > elements)
            cuts[k] = elements;
    }
}

static int part_of(const size_t cuts[], int size, size_t element)
{
    int r = 0;

    while (r < size - 1 && element >= cuts[r + 1])
        r++;
    return r;
}

static int window_of(size_t window, int size, size_t element)
{
    int r = (int)(element / window);

    return r < size ? r : size - 1;
}

/* Each element of a window that is not in the part of its rank goes to that part's rank, which
 * is a neighbour; no others do. */
static void windows_check(const struct parts_plan *plan, const size_t cuts[], int size)
{
    struct parts_gap gap;
    size_t moved = 0, other = 0;

    for (int k = 1; k < size; k++) {
        if (!parts_gap(plan, cuts, k, &gap))
            continue;
        assert_true(gap.n > 0);
        assert_true((gap.holder == k && gap.owner == k - 1) ||
                    (gap.holder == k - 1 && gap.owner == k));
        moved += gap.n;
        for (size_t e = gap.first; e < gap.first + gap.n; e++) {
            assert_int_equal(part_of(cuts, size, e), gap.owner);
            assert_int_equal(window_of(plan->window, size, e), gap.holder);
        }
    }
    for (size_t e = 0; e < cuts[size]; e++)
        other += part_of(cuts, size, e) != window_of(plan->window, size, e);
    assert_int_equal(moved, other);
}

static void windows_and_exchanges_give_each_rank_its_part(void **state)
{
    static const size_t rows[] = {1, 3, 16, 100, 1000};
    static const int sizes[] = {1, 2, 3, 4, 7, 8, 64, SIZE_MAX_HERE};
    size_t cuts[SIZE_MAX_HERE + 1];
    int windows = 0;

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (size_t elements = rows[r]; elements < 5000; elements += 37 * rows[r]) {
                struct parts_plan plan;

                cuts_fill(cuts, sizes[s], elements, rows[r]);
                plan = parts_plan(cuts, sizes[s], 4);
                if (plan.way != PARTS_WINDOWS)
                    continue;
                windows_check(&plan, cuts, sizes[s]);
                windows++;
            }
    assert_true(windows > 100);
}

static void equal_parts_are_windows_without_an_exchange(void **state)
{
    static const size_t cuts[] = {0, 5, 10, 15};
    struct parts_plan plan = parts_plan(cuts, 3, 4);
    struct parts_gap gap;

    (void)state;
    assert_int_equal(plan.way, PARTS_WINDOWS);
    assert_int_equal(plan.window, 5);
    for (int k = 1; k < 3; k++)
        assert_false(parts_gap(&plan, cuts, k, &gap));
}

static void windows_of_large_parts_are_aligned(void **state)
{
    size_t cuts[] = {0, 333, 667, 1003};

    (void)state;
    assert_int_equal(parts_plan(cuts, 3, 4).window, 332);
    cuts[1] = 4;
    cuts[2] = 9;
    cuts[3] = 14; /* small ones are not */
    assert_int_equal(parts_plan(cuts, 3, 4).window, 4);
    cuts[3] = 15;
    assert_int_equal(parts_plan(cuts, 3, 4).window, 5);
}

static void parts_that_are_far_from_windows_take_few_calls(void **state)
{
    static const size_t few[] = {0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 9, 9, 9};
    size_t cuts[101];

    (void)state;
    assert_int_equal(parts_plan(few, 12, 4).way, PARTS_EACH);
    cuts_fill(cuts, 100, 50, 5); /* ten rows, for a hundred ranks */
    assert_int_equal(parts_plan(cuts, 100, 4).way, PARTS_WHOLE);
    cuts_fill(cuts, 100, 0, 5);
    assert_int_equal(parts_plan(cuts, 100, 4).way, PARTS_EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_and_exchanges_give_each_rank_its_part),
        cmocka_unit_test(equal_parts_are_windows_without_an_exchange),
        cmocka_unit_test(windows_of_large_parts_are_aligned),
        cmocka_unit_test(parts_that_are_far_from_windows_take_few_calls),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
