#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "table/row_order.h"

/* All ranks' portions of one batch follow each other without a gap, and agree on its
 * end. */
static uint64_t check_batch(uint64_t rows, uint64_t position, uint64_t batch, int size)
{
    uint64_t next = position,
             end = position_portion(rows, position, batch, 0, size).end;
    uint64_t least = UINT64_MAX, most = 0;

    for (int r = 0; r < size; r++) {
        struct portion p = position_portion(rows, position, batch, r, size);

        assert_int_equal(p.first, next);
        assert_int_equal(p.end, end);
        assert_true(p.count <= batch);
        next += p.count;
        least = p.count < least ? p.count : least;
        most = p.count > most ? p.count : most;
    }
    assert_int_equal(next, end);
    assert_true(end > position && end <= rows);
    assert_true(most - least <= 1);
    assert_true(end == rows || least == batch);
    return end;
}

static void an_epoch_is_every_row_once(void **state)
{
    (void)state;
    for (uint64_t rows = 1; rows < 60; rows++)
        for (uint64_t batch = 1; batch < 20; batch++)
            for (int size = 1; size < 9; size++) {
                uint64_t position = 0, batches = 0;

                for (; position < rows; batches++)
                    position = check_batch(rows, position, batch, size);
                assert_int_equal(batches, (rows + batch * size - 1) / (batch * size));
            }
}

static void any_position_continues_with_any_size(void **state)
{
    (void)state;
    for (uint64_t start = 0; start < 50; start++)
        for (int size = 1; size < 9; size++)
            for (uint64_t at = start; at < 50;)
                at = check_batch(50, at, 3, size);
}

static void the_last_batch_may_be_smaller(void **state)
{
    static const struct {
        uint64_t rows, position, batch;
        int rank, size;
        uint64_t first, count, end;
    } T[] = {
        {10, 0, 2, 0, 2, 0, 2, 4},
        {10, 0, 2, 1, 2, 2, 2, 4},
        {10, 8, 2, 0, 2, 8, 1, 10},
        {10, 8, 2, 1, 2, 9, 1, 10},
        {11, 8, 2, 0, 2, 8, 2, 11},
        {11, 8, 2, 1, 2, 10, 1, 11},
        {10, 9, 4, 0, 4, 9, 1, 10},
        {10, 9, 4, 3, 4, 10, 0, 10},
        {3, 0, UINT64_MAX, 1, 2, 2, 1, 3},
        {1, 0, 1, 7, 8, 1, 0, 1},
        {UINT64_MAX, 0, UINT64_MAX / 2, 1, 2, UINT64_MAX / 2, UINT64_MAX / 2,
         UINT64_MAX - 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        struct portion p = position_portion(T[i].rows, T[i].position, T[i].batch,
                                            T[i].rank, T[i].size);

        assert_int_equal(p.first, T[i].first);
        assert_int_equal(p.count, T[i].count);
        assert_int_equal(p.end, T[i].end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_is_every_row_once),
        cmocka_unit_test(any_position_continues_with_any_size),
        cmocka_unit_test(the_last_batch_may_be_smaller),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
