#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "data/window_order.h"

/* The row at each position, in the way in which a reader finds out. */
static uint64_t *order_of(const struct window_order *o)
{
    uint64_t *order = malloc(o->n * sizeof *order);
    struct window w;

    assert_non_null(order);
    for (uint64_t i = 0; i < o->n; i += w.rows) {
        uint64_t *rows, n = 0;
        uint32_t *at;

        window_order_find(o, i, &w);
        assert_int_equal(w.first, i);
        rows = malloc(w.rows * sizeof *rows);
        at = malloc(w.rows * sizeof *at);
        assert_non_null(rows);
        assert_non_null(at);
        for (uint64_t b = 0; b < w.blocks; b++) {
            uint64_t first, count;

            window_order_block(o, w.place + b, &first, &count);
            assert_true(count >= 1 && count <= o->block && n + count <= w.rows);
            for (uint64_t k = 0; k < count; k++)
                rows[n++] = first + k;
        }
        assert_int_equal(n, w.rows);
        window_order_fill(o, &w, at);
        for (uint64_t j = 0; j < w.rows; j++)
            order[i + j] = rows[at[j]];
        free(rows);
        free(at);
    }
    return order;
}

static void check(uint64_t n, uint64_t block, uint64_t window, uint64_t epoch)
{
    unsigned char *seen = calloc(n, 1);
    struct window_order o;
    struct window w;
    uint64_t *order;

    assert_non_null(seen);
    window_order_init(&o, n, block, window, 42, epoch);
    order = order_of(&o);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(order[i] < n);
        assert_int_equal(seen[order[i]]++, 0);
        window_order_find(&o, i, &w);
        assert_true(i >= w.first && i < w.first + w.rows);
    }
    free(order);
    free(seen);
}

static void every_row_comes_once(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 120; n++)
        for (uint64_t block = 1; block <= 9; block++)
            for (uint64_t window = 1; window <= 5; window++)
                check(n, block, window, n % 7);
    check(100003, 64, 16, 1);
    check(100000, 1000, 3, 2);
    check(10, 1000, 1000, 0);
}

/* A checkpoint's position means these rows, on any machine and in any version. */
static void orders_are_fixed_for_ever(void **state)
{
    static const struct {
        uint64_t n, block, window, seed, epoch, rows[10];
    } golden[] = {
        {23, 4, 2, 0, 0, {22, 21, 9, 10, 8, 11, 20, 15, 5, 13}},
        {23, 4, 2, 0, 1, {15, 12, 6, 5, 4, 13, 7, 14, 2, 3}},
        {100000,
         128,
         8,
         42,
         3,
         {75590, 42589, 75632, 54963, 91226, 42586, 75576, 91244, 54960, 3090}},
    };

    (void)state;
    for (size_t k = 0; k < sizeof golden / sizeof *golden; k++) {
        struct window_order o;
        uint64_t *order;

        window_order_init(&o, golden[k].n, golden[k].block, golden[k].window,
                          golden[k].seed, golden[k].epoch);
        order = order_of(&o);
        for (int i = 0; i < 10; i++)
            assert_int_equal(order[i], golden[k].rows[i]);
        free(order);
    }
}

/* All orders of the four rows of a window are equally likely: chi-square with 23 degrees
 * of freedom, whose mean is 23 and deviation 6.8. */
static void all_orders_of_a_window_are_equally_likely(void **state)
{
    static unsigned count[256];
    const double expected = 500;
    double chi2 = 0;
    unsigned seen = 0;

    (void)state;
    for (uint64_t epoch = 0; epoch < 24 * 500; epoch++) {
        struct window_order o;
        uint64_t *order;
        unsigned code = 0;

        window_order_init(&o, 4, 4, 1, 7, epoch);
        order = order_of(&o);
        for (int i = 0; i < 4; i++)
            code = code * 4 + (unsigned)order[i];
        free(order);
        count[code]++;
    }
    for (size_t i = 0; i < 256; i++)
        if (count[i]) {
            seen++;
            chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        }
    assert_int_equal(seen, 24);
    assert_true(chi2 < 23 + 3 * 6.8);
}

/* Windows of an epoch, and the same window of two epochs, have unrelated orders. */
static void windows_are_unrelated(void **state)
{
    static uint32_t a[4096], b[4096];
    struct window_order o, next;
    struct window first, second;
    int same = 0;

    (void)state;
    window_order_init(&o, 8192, 256, 16, 1, 5);
    window_order_init(&next, 8192, 256, 16, 1, 6);
    window_order_find(&o, 0, &first);
    window_order_find(&o, 4096, &second);
    window_order_fill(&o, &first, a);
    window_order_fill(&o, &second, b);
    for (int i = 0; i < 4096; i++)
        same += a[i] == b[i];
    window_order_fill(&next, &first, b);
    for (int i = 0; i < 4096; i++)
        same += a[i] == b[i];
    assert_true(same < 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_once),
        cmocka_unit_test(orders_are_fixed_for_ever),
        cmocka_unit_test(all_orders_of_a_window_are_equally_likely),
        cmocka_unit_test(windows_are_unrelated),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
