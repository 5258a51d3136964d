#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reduce/gradients.h"
#include "reduce/bucket_parts.h"

#define N 6

/* A network of two layers, a tensor without dimensions, an empty one, and one of a
 * single long row. */
static const raytrain_tensor tensors[N] = {
    {.ndim = 2, .shape = {30, 7}},    {.ndim = 1, .shape = {30}},
    {.ndim = 3, .shape = {5, 3, 11}}, {.ndim = 0},
    {.ndim = 2, .shape = {4, 0}},     {.ndim = 2, .shape = {1, 100}}};

/* In this order in memory: buckets need not be in index order. */
static const int order[N] = {3, 4, 2, 0, 5, 1};

static size_t offsets[N];

static struct parted_bucket bucket_make(void)
{
    size_t at = 0;

    for (int i = 0; i < N; i++) {
        offsets[order[i]] = at;
        at += gradient_elements(&tensors[order[i]]);
    }
    return (struct parted_bucket){tensors, offsets, N, at};
}

static void parts_are_whole_rows(void **state)
{
    struct parted_bucket b = bucket_make();

    (void)state;
    for (int size = 1; size <= 40; size++) {
        size_t cuts[41];

        bucket_parts_cut(&b, size, cuts);
        assert_int_equal(cuts[0], 0);
        assert_int_equal(cuts[size], b.elements);
        for (int k = 0; k < size; k++)
            assert_true(cuts[k] <= cuts[k + 1]);
        for (int k = 0; k <= size; k++)
            for (size_t i = 0; i < N; i++) {
                size_t row = bucket_parts_row(&tensors[i]);

                assert_true(row == 0 || bucket_parts_cut_in(&b, cuts, k, i) % row == 0);
            }
    }
}

static void parts_of_a_tensor_cover_it(void **state)
{
    struct parted_bucket b = bucket_make();
    size_t cuts[5], sum = 0;

    (void)state;
    bucket_parts_cut(&b, 4, cuts);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(bucket_parts_cut_in(&b, cuts, 0, i), 0);
        assert_int_equal(bucket_parts_cut_in(&b, cuts, 4, i),
                         gradient_elements(&tensors[i]));
    }
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < N; i++)
            sum += bucket_parts_cut_in(&b, cuts, k + 1, i) -
                   bucket_parts_cut_in(&b, cuts, k, i);
        assert_int_equal(sum, cuts[k + 1]);
    }
}

/* No cut is further from its place than half of the longest row. */
static void parts_are_about_equal(void **state)
{
    struct parted_bucket b = bucket_make();
    size_t cuts[5];

    (void)state;
    bucket_parts_cut(&b, 4, cuts);
    for (size_t k = 0; k <= 4; k++) {
        size_t ideal = b.elements * k / 4;

        assert_true(cuts[k] <= ideal + 51 && cuts[k] + 51 >= ideal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_whole_rows),
        cmocka_unit_test(parts_of_a_tensor_cover_it),
        cmocka_unit_test(parts_are_about_equal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
