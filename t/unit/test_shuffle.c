#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table/row_order.h"

/* Every row comes up exactly once. */
static void check_bijection(uint64_t n, uint64_t seed, uint64_t epoch)
{
    unsigned char *seen = calloc(n, 1);
    struct shuffle s;

    assert_non_null(seen);
    shuffle_init(&s, n, seed, epoch);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = shuffle_row(&s, i);

        assert_true(row < n);
        assert_int_equal(seen[row], 0);
        seen[row] = 1;
    }
    free(seen);
}

static void every_row_once_for_each_small_n(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 2000; n++)
        check_bijection(n, n * 7919, n % 5);
}

static void every_row_once_for_large_n(void **state)
{
    const uint64_t N[] = {4095, 4096, 4097, 60000, 65535, 65536, 65537, 1000003};

    (void)state;
    for (size_t i = 0; i < sizeof N / sizeof *N; i++)
        check_bijection(N[i], 42, i);
}

/* Where it cannot be walked through: rows are in range, and differ. */
static void huge_n_stays_in_range(void **state)
{
    const uint64_t N[] = {UINT64_C(1) << 32, (UINT64_C(1) << 40) + 1, UINT64_MAX};

    (void)state;
    for (size_t k = 0; k < sizeof N / sizeof *N; k++) {
        uint64_t rows[64];
        struct shuffle s;

        shuffle_init(&s, N[k], 1, 2);
        for (uint64_t i = 0; i < 64; i++) {
            rows[i] = shuffle_row(&s, i < 32 ? i : N[k] - i);
            assert_true(rows[i] < N[k]);
            for (uint64_t j = 0; j < i; j++)
                assert_true(rows[i] != rows[j]);
        }
    }
}

/* A checkpoint's position means these rows, on any machine and in any version. */
static void orders_are_fixed_for_ever(void **state)
{
    static const struct {
        uint64_t n, seed, epoch, rows[8];
    } GOLDEN[] = {
        {10, 0, 0, {8, 2, 9, 1, 0, 4, 5, 6}},
        {10, 0, 1, {9, 3, 8, 0, 4, 2, 6, 5}},
        {1000, 42, 0, {647, 298, 703, 966, 161, 496, 684, 123}},
        {60000, 42, 0, {407, 53439, 41646, 36259, 19928, 14928, 8179, 19814}},
        {60000, 42, 1, {18097, 35654, 36956, 4655, 8334, 38271, 29521, 31871}},
        {60000,
         UINT64_C(18446744073709551615),
         UINT64_C(18446744073709551615),
         {35033, 49698, 38891, 5303, 57510, 23673, 32971, 30110}},
        {UINT64_C(8589934592),
         1,
         7,
         {235169568, UINT64_C(8224014687), UINT64_C(4268827345), UINT64_C(6480467747),
          UINT64_C(4669293190), UINT64_C(7367331127), UINT64_C(8195281545),
          UINT64_C(7762086117)}},
        {UINT64_C(9223372036854775813),
         3,
         9,
         {UINT64_C(679910683524551825), UINT64_C(800382900578219184),
          UINT64_C(3507920148709000320), UINT64_C(8975739003497214686),
          UINT64_C(5897534149464560930), UINT64_C(8151035348881082508),
          UINT64_C(5484233181611796876), UINT64_C(1194127036676012936)}},
    };

    (void)state;
    for (size_t k = 0; k < sizeof GOLDEN / sizeof *GOLDEN; k++) {
        struct shuffle s;

        shuffle_init(&s, GOLDEN[k].n, GOLDEN[k].seed, GOLDEN[k].epoch);
        for (uint64_t i = 0; i < 8; i++)
            assert_int_equal(shuffle_row(&s, i), GOLDEN[k].rows[i]);
    }
}

/* The number of places at which two orders agree: by chance, about one. */
static uint64_t agreements(uint64_t n, uint64_t seed_a, uint64_t epoch_a,
                           uint64_t seed_b, uint64_t epoch_b)
{
    struct shuffle a, b;
    uint64_t same = 0;

    shuffle_init(&a, n, seed_a, epoch_a);
    shuffle_init(&b, n, seed_b, epoch_b);
    for (uint64_t i = 0; i < n; i++)
        same += shuffle_row(&a, i) == shuffle_row(&b, i);
    return same;
}

static void epochs_and_seeds_are_unrelated(void **state)
{
    (void)state;
    for (uint64_t e = 0; e < 50; e++) {
        assert_true(agreements(10000, 7, e, 7, e + 1) < 10);
        assert_true(agreements(10000, e, 3, e + 1, 3) < 10);
        assert_true(agreements(10000, e, e + 1, e + 1, e) < 10);
    }
}

/*
 * Over many epochs all orders of five rows come up equally often: chi-square with 119
 * degrees of freedom, whose mean is 119 and deviation 15.4. The seed is fixed, so the
 * outcome is too.
 */
static void all_orders_are_equally_likely(void **state)
{
    static unsigned count[3125];
    const double expected = 500;
    double chi2 = 0;
    unsigned seen = 0;

    (void)state;
    for (uint64_t epoch = 0; epoch < 120 * 500; epoch++) {
        struct shuffle s;
        unsigned code = 0;

        shuffle_init(&s, 5, 42, epoch);
        for (uint64_t i = 0; i < 5; i++)
            code = code * 5 + (unsigned)shuffle_row(&s, i);
        count[code]++;
    }
    for (size_t i = 0; i < 3125; i++)
        if (count[i]) {
            seen++;
            chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        }
    assert_int_equal(seen, 120);
    assert_true(chi2 < 119 + 3 * 15.4);
}

/* A row that follows another in the file does not follow it in the order. */
static void neighbours_are_separated(void **state)
{
    struct shuffle s;
    uint64_t adjacent = 0;

    (void)state;
    shuffle_init(&s, 60000, 1, 0);
    for (uint64_t i = 0; i + 1 < 60000; i++)
        adjacent += shuffle_row(&s, i) + 1 == shuffle_row(&s, i + 1);
    assert_true(adjacent < 10);
}

static void without_shuffling_the_order_is_unchanged(void **state)
{
    struct shuffle s;

    (void)state;
    shuffle_init_identity(&s, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(shuffle_row(&s, i), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_once_for_each_small_n),
        cmocka_unit_test(every_row_once_for_large_n),
        cmocka_unit_test(huge_n_stays_in_range),
        cmocka_unit_test(orders_are_fixed_for_ever),
        cmocka_unit_test(epochs_and_seeds_are_unrelated),
        cmocka_unit_test(all_orders_are_equally_likely),
        cmocka_unit_test(neighbours_are_separated),
        cmocka_unit_test(without_shuffling_the_order_is_unchanged),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
