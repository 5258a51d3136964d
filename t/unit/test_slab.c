#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checkpoint/slab.h"

static void bytes_do_not_overflow(void **state)
{
    static const struct {
        int ndim;
        uint64_t shape[8], element;
        int rc;
        uint64_t bytes;
    } rows[] = {
        {0, {0}, 4, 0, 4},
        {1, {0}, 4, 0, 0},
        {2, {3, 5}, 8, 0, 120},
        {1, {UINT64_MAX}, 1, -1, 0},
        {1, {1ull << 62}, 2, -1, 0},
        {1, {1ull << 61}, 2, 0, 1ull << 62},
        {3, {1ull << 32, 1ull << 32, 1}, 1, -1, 0},
        {3, {1ull << 32, 0, 1ull << 32}, 1, -1, 0}, /* its strides would not fit */
        {3, {1ull << 20, 0, 7}, 1, 0, 0},
        {9, {1}, 1, -1, 0},
        {-1, {1}, 1, -1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 0;

        assert_int_equal(
            slab_tensor_bytes(rows[i].ndim, rows[i].shape, rows[i].element, &bytes),
            rows[i].rc);
        if (rows[i].rc == 0)
            assert_int_equal(bytes, rows[i].bytes);
    }
}

static void a_slab_must_lie_within_its_shape(void **state)
{
    const uint64_t shape[] = {4, 6};
    struct error err;

    (void)state;
    assert_int_equal(slab_check(2, shape, &(raytrain_slab){{0, 0}, {4, 6}}, &err), 0);
    assert_int_equal(slab_check(2, shape, &(raytrain_slab){{4, 0}, {0, 6}}, &err), 0);
    assert_int_equal(slab_check(2, shape, &(raytrain_slab){{1, 0}, {4, 6}}, &err), -1);
    assert_int_equal(slab_check(2, shape, &(raytrain_slab){{0, 7}, {1, 0}}, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(
        slab_check(2, shape, &(raytrain_slab){{0, 2}, {1, UINT64_MAX - 1}}, &err), -1);
    assert_non_null(strstr(err.text, "axis 1"));
}

/* Every position of a slab's stream, against counting coordinates by hand. */
static void runs_find_every_byte(void **state)
{
    const uint64_t shape[] = {3, 4, 5};
    const uint64_t element = 2;

    (void)state;
    for (uint64_t s = 0; s < 3 * 4 * 5; s++) {
        for (uint64_t c = 0; c < 3 * 4 * 5; c++) {
            raytrain_slab slab = {{s / 20, s / 5 % 4, s % 5},
                                  {c / 20 + 1, c / 5 % 4 + 1, c % 5 + 1}};
            struct slab_stream stream;
            uint64_t position = 0, left;

            if (slab_check(3, shape, &slab, NULL) < 0)
                continue;
            slab_stream_init(&stream, 3, shape, element, &slab);
            for (uint64_t i = 0; i < slab.count[0]; i++)
                for (uint64_t j = 0; j < slab.count[1]; j++)
                    for (uint64_t k = 0; k < slab.count[2]; k++) {
                        uint64_t at =
                            (((slab.start[0] + i) * 4 + slab.start[1] + j) * 5 +
                             slab.start[2] + k) *
                            element;

                        assert_int_equal(slab_stream_at(&stream, position, &left), at);
                        assert_int_equal(slab_stream_at(&stream, position + 1, &left),
                                         at + 1);
                        position += element;
                    }
            assert_int_equal(stream.bytes, position);
        }
    }
}

/* The first position at or after an offset, compared with a search through all. */
static void runs_find_an_offset(void **state)
{
    const uint64_t shape[] = {3, 4, 5};
    struct slab_stream none;

    (void)state;
    for (uint64_t s = 0; s < 3 * 4 * 5; s++) {
        for (uint64_t c = 0; c < 3 * 4 * 5; c++) {
            raytrain_slab slab = {{s / 20, s / 5 % 4, s % 5},
                                  {c / 20 + 1, c / 5 % 4 + 1, c % 5 + 1}};
            uint64_t position = 0, left;
            struct slab_stream stream;

            if (slab_check(3, shape, &slab, NULL) < 0)
                continue;
            slab_stream_init(&stream, 3, shape, 2, &slab);
            for (uint64_t offset = 0; offset <= 3 * 4 * 5 * 2; offset++) {
                while (position < stream.bytes &&
                       slab_stream_at(&stream, position, &left) < offset)
                    position++;
                assert_int_equal(slab_stream_find(&stream, offset), position);
            }
        }
    }
    slab_stream_init(&none, 3, shape, 2, &(raytrain_slab){{1}, {0}});
    assert_int_equal(slab_stream_find(&none, 7), 0);
}

static void runs_are_as_long_as_possible(void **state)
{
    const uint64_t shape[] = {10, 4, 5};
    static const struct {
        raytrain_slab slab;
        uint64_t run, bytes;
    } rows[] = {
        {{{0, 0, 0}, {10, 4, 5}}, 200, 200}, {{{2, 0, 0}, {3, 4, 5}}, 60, 60},
        {{{2, 1, 0}, {3, 2, 5}}, 10, 30},    {{{2, 1, 1}, {1, 1, 3}}, 3, 3},
        {{{0, 0, 1}, {10, 4, 3}}, 3, 120},   {{{0, 0, 0}, {0, 4, 5}}, 1, 0},
    };
    struct slab_stream stream;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        slab_stream_init(&stream, 3, shape, 1, &rows[i].slab);
        assert_int_equal(stream.bytes, rows[i].bytes);
        assert_int_equal(stream.segment_bytes, rows[i].run);
    }
    slab_stream_init(&stream, 0, NULL, 8, &(raytrain_slab){{0}, {0}});
    assert_int_equal(stream.bytes, 8);
}

static void slabs_must_cover_the_shape_once(void **state)
{
    static const struct {
        int ndim;
        uint64_t shape[3];
        size_t n;
        raytrain_slab slab[4];
        const char *says; /* NULL: fine */
    } rows[] = {
        {1, {10}, 2, {{{0}, {5}}, {{5}, {5}}}, NULL},
        {1, {10}, 2, {{{5}, {5}}, {{0}, {5}}}, NULL},
        {1, {10}, 2, {{{0}, {6}}, {{5}, {5}}}, "ranks 0 and 1 overlap"},
        {1, {10}, 2, {{{0}, {4}}, {{5}, {5}}}, "9 of 10"},
        {1, {10}, 0, {{{0}, {0}}}, "0 of 10"},
        {1, {0}, 0, {{{0}, {0}}}, NULL},
        {2, {4, 4}, 2, {{{0, 0}, {4, 1}}, {{0, 1}, {4, 3}}}, NULL},
        /* four quarters; then one of them moved over another: the same volume */
        {2,
         {4, 4},
         4,
         {{{0, 0}, {2, 2}}, {{0, 2}, {2, 2}}, {{2, 0}, {2, 2}}, {{2, 2}, {2, 2}}},
         NULL},
        {2,
         {4, 4},
         4,
         {{{0, 0}, {2, 2}}, {{0, 2}, {2, 2}}, {{2, 0}, {2, 2}}, {{1, 1}, {2, 2}}},
         "ranks 0 and 3 overlap"},
        /* a windmill: no axis cuts it straight through */
        {2,
         {3, 3},
         4,
         {{{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}},
         "8 of 9"},
        {0, {0}, 1, {{{0}, {0}}}, NULL},
        {0, {0}, 2, {{{0}, {0}}, {{0}, {0}}}, "overlap"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rank_slab slabs[4];
        struct error err;
        int rc;

        for (size_t k = 0; k < rows[i].n; k++)
            slabs[k] = (struct rank_slab){(int)k, rows[i].slab[k]};
        rc = slab_cover("w", rows[i].ndim, rows[i].shape, slabs, rows[i].n, &err);
        assert_int_equal(rc, rows[i].says ? -1 : 0);
        if (rows[i].says) {
            assert_int_equal(err.code, RAYTRAIN_EINVAL);
            assert_non_null(strstr(err.text, rows[i].says));
            assert_non_null(strstr(err.text, "'w'"));
        }
    }
}

/* The boxes are runs of the stream, one after the other, as large as they may be. */
static void a_slab_is_cut_into_runs_of_its_stream(void **state)
{
    static const struct {
        int ndim;
        uint64_t shape[3];
        raytrain_slab slab;
        uint64_t most;
        size_t boxes;
    } rows[] = {
        {0, {0}, {{0}, {0}}, 4, 1},
        {0, {0}, {{0}, {0}}, 1, 1},
        {1, {10}, {{0}, {10}}, 40, 1},
        {1, {10}, {{2}, {7}}, 8, 4},
        {1, {10}, {{2}, {7}}, 1, 7},
        {2, {4, 6}, {{0, 0}, {4, 6}}, 95, 2},
        {2, {4, 6}, {{1, 2}, {3, 3}}, 24, 2},
        {2, {4, 6}, {{1, 2}, {3, 3}}, 12, 3},
        {2, {4, 6}, {{1, 2}, {3, 3}}, 8, 6},
        {3, {3, 4, 5}, {{1, 1, 1}, {2, 3, 4}}, 32, 4},
        {3, {3, 4, 5}, {{1, 1, 1}, {2, 3, 4}}, 12, 12},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct slab_stream all, some;
        struct slab_cut cut;
        raytrain_slab box;
        uint64_t at = 0, n, left;
        size_t boxes = 0;

        slab_stream_init(&all, rows[i].ndim, rows[i].shape, 4, &rows[i].slab);
        slab_cut_init(&cut, rows[i].ndim, 4, &rows[i].slab, rows[i].most);
        for (; slab_cut_next(&cut, &box, &n); at += n, boxes++) {
            assert_true(n <= rows[i].most || n == 4);
            slab_stream_init(&some, rows[i].ndim, rows[i].shape, 4, &box);
            assert_int_equal(some.bytes, n);
            for (uint64_t k = 0; k < n; k += 4)
                assert_int_equal(slab_stream_at(&some, k, &left),
                                 slab_stream_at(&all, at + k, &left));
        }
        assert_int_equal(at, all.bytes);
        assert_int_equal(boxes, rows[i].boxes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slab_is_cut_into_runs_of_its_stream),
        cmocka_unit_test(bytes_do_not_overflow),
        cmocka_unit_test(a_slab_must_lie_within_its_shape),
        cmocka_unit_test(runs_find_every_byte),
        cmocka_unit_test(runs_find_an_offset),
        cmocka_unit_test(runs_are_as_long_as_possible),
        cmocka_unit_test(slabs_must_cover_the_shape_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
