#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The file itself, for its functions of either width. */
#include "mpi/combine.c"

enum { N = 37 }; /* not a multiple of any vector */

static const double special[] = {0.0, -0.0, NAN,   -NAN,  INFINITY, -INFINITY,
                                 1.0, -1.0, 1e-40, 3e38,  -3e38,    0.1,
                                 7.0, 1e30, -1e30, 1e-300};

static reduce_function combine_of(enum comm_type type, enum comm_op op)
{
    struct reduction_kind kind;

    assert_int_equal(reduction_kind_find(type, op, &kind, NULL), 0);
    assert_int_equal(kind.width, comm_type_size(type));
    return kind.combine;
}

static void fill(void *data, enum comm_type type, unsigned seed)
{
    srand(seed);
    for (int i = 0; i < N; i++) {
        double x = special[(size_t)rand() % (sizeof special / sizeof special[0])];

        if (type == COMM_FLOAT32)
            ((float *)data)[i] = (float)x;
        else if (type == COMM_FLOAT64)
            ((double *)data)[i] = x;
        else if (type == COMM_INT64)
            ((int64_t *)data)[i] = rand() % 2 ? INT64_MAX - rand() : -(int64_t)rand();
        else
            ((struct comm_stat *)data)[i] = (struct comm_stat){x, x, x};
    }
}

static void results_do_not_depend_on_order(void **state)
{
    (void)state;
    for (int type = COMM_FLOAT32; type <= COMM_STAT; type++) {
        for (int op = COMM_SUM; op <= (type == COMM_STAT ? COMM_SUM : COMM_MAX); op++) {
            reduce_function f = combine_of((enum comm_type)type, (enum comm_op)op);
            size_t n = N * comm_type_size((enum comm_type)type);

            assert_non_null(f);
            for (unsigned seed = 0; seed < 200; seed++) {
                struct comm_stat a[N], b[N], keep[N];

                fill(a, (enum comm_type)type, seed);
                fill(b, (enum comm_type)type, seed + 1000);
                memcpy(keep, a, n);
                f(a, b, N);
                f(b, keep, N);
                assert_memory_equal(a, b, n);
            }
        }
    }
}

static void results_are_correct(void **state)
{
    static const struct {
        enum comm_op op;
        double a, b, expect;
    } table[] = {
        {COMM_SUM, 1, 2, 3},
        {COMM_SUM, NAN, 2, NAN},
        {COMM_SUM, INFINITY, -INFINITY, NAN},
        {COMM_MIN, 1, 2, 1},
        {COMM_MIN, 2, 1, 1},
        {COMM_MIN, NAN, 2, 2},
        {COMM_MIN, 2, NAN, 2},
        {COMM_MIN, NAN, NAN, NAN},
        {COMM_MIN, 0.0, -0.0, -0.0},
        {COMM_MAX, 1, 2, 2},
        {COMM_MAX, 2, 1, 2},
        {COMM_MAX, NAN, -2, -2},
        {COMM_MAX, -0.0, 0.0, 0.0},
        {COMM_MAX, NAN, NAN, NAN},
        {COMM_MAX, -INFINITY, NAN, -INFINITY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        double a[5], b[5];
        float fa[5], fb[5];

        for (int k = 0; k < 5; k++) {
            a[k] = fa[k] = (float)table[i].a;
            b[k] = fb[k] = (float)table[i].b;
        }
        combine_of(COMM_FLOAT64, table[i].op)(a, b, 5);
        combine_of(COMM_FLOAT32, table[i].op)(fa, fb, 5);
        for (int k = 0; k < 5; k++) {
            assert_true(isnan(table[i].expect) ? isnan(a[k]) : a[k] == table[i].expect);
            assert_true(isnan(table[i].expect) ? isnan(fa[k])
                                               : fa[k] == (float)table[i].expect);
            assert_int_equal(!!signbit(a[k]), !!signbit(table[i].expect));
        }
    }
}

static void statistics_ignore_nan_except_in_the_sum(void **state)
{
    struct comm_stat a[3] = {{1, 1, 1}, {NAN, NAN, NAN}, {NAN, NAN, NAN}};
    const struct comm_stat b[3] = {{5, 5, 5}, {2, 2, 2}, {NAN, NAN, NAN}};

    (void)state;
    combine_of(COMM_STAT, COMM_SUM)(a, b, 3);
    assert_true(a[0].sum == 6 && a[0].min == 1 && a[0].max == 5);
    assert_true(isnan(a[1].sum) && a[1].min == 2 && a[1].max == 2);
    assert_true(isnan(a[2].sum) && isnan(a[2].min) && isnan(a[2].max));
}

static void a_mean_is_finished_by_its_share(void **state)
{
    struct reduction_kind kind;
    float f[N + 1];
    double d[N + 1];

    (void)state;
    for (int n = 0; n <= N; n++) {
        for (int i = 0; i <= N; i++)
            d[i] = f[i] = (float)(i * 4);
        assert_int_equal(reduction_kind_find(COMM_FLOAT32, COMM_MEAN, &kind, NULL), 0);
        kind.finish(f, (size_t)n, 4);
        assert_int_equal(reduction_kind_find(COMM_FLOAT64, COMM_MEAN, &kind, NULL), 0);
        kind.finish(d, (size_t)n, 4);
        for (int i = 0; i <= N; i++)
            assert_true(f[i] == (float)(i < n ? i : i * 4) && d[i] == (double)f[i]);
    }
    assert_int_equal(reduction_kind_find(COMM_FLOAT32, COMM_SUM, &kind, NULL), 0);
    assert_null(kind.finish);
}

/* What kind it is, and the bits: close = combine, then finish, into both. */
static void closing_is_combining_and_finishing(void **state)
{
    (void)state;
    for (int type = COMM_FLOAT32; type <= COMM_FLOAT64; type++)
        for (size_t n = 0; n < N; n++) {
            size_t width = comm_type_size((enum comm_type)type), bytes = n * width;
            double a[N], b[N], x[N], y[N];
            struct reduction_kind kind;

            assert_int_equal(
                reduction_kind_find((enum comm_type)type, COMM_MEAN, &kind, NULL), 0);
            fill(a, (enum comm_type)type, (unsigned)n);
            fill(b, (enum comm_type)type, (unsigned)n + 1000);
            memcpy(x, a, sizeof x);
            memcpy(y, b, sizeof y);
            kind.close(x, y, n, 3);
            assert_memory_equal((char *)y + bytes, (char *)b + bytes, width);
            assert_memory_equal((char *)x + bytes, (char *)a + bytes, width);
            kind.combine(a, b, n);
            kind.finish(a, n, 3);
            assert_memory_equal(x, a, bytes);
            assert_memory_equal(y, a, bytes);
        }
}

/* Machines of either kind train together. */
static void wide_vectors_yield_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
        const struct reduction *r = &reductions[i];

        if (!r->wide.combine || !wide_runs())
            continue;
        for (size_t n = 0; n < N; n++) {
            double a[N], b[N], x[N];

            fill(a, r->type, (unsigned)n);
            fill(b, r->type, (unsigned)n + 1000);
            memcpy(x, a, sizeof x);
            r->plain.combine(a, b, n);
            r->wide.combine(x, b, n);
            if (r->plain.finish) {
                r->plain.finish(a, n, 3);
                r->wide.finish(x, n, 3);
            }
            assert_memory_equal(x, a, N * comm_type_size(r->type));
        }
    }
}

static void nothing_is_written_past_the_end(void **state)
{
    float a[N + 1], b[N + 1];

    (void)state;
    for (int n = 0; n <= N; n++) {
        for (int i = 0; i <= N; i++) {
            a[i] = (float)i;
            b[i] = 100;
        }
        combine_of(COMM_FLOAT32, COMM_SUM)(a, b, (size_t)n);
        for (int i = 0; i <= N; i++)
            assert_true(a[i] == (float)i + (i < n ? 100 : 0));
    }
}

static void unsupported_pairs_are_refused(void **state)
{
    struct reduction_kind kind;
    struct error err;

    (void)state;
    assert_int_equal(reduction_kind_find(COMM_STAT, COMM_MAX, &kind, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(reduction_kind_find(COMM_INT64, COMM_MEAN, &kind, &err), -1);
    assert_int_equal(reduction_kind_find((enum comm_type)17, COMM_SUM, &kind, &err),
                     -1);
    assert_int_equal(reduction_kind_find(COMM_INT64, (enum comm_op)17, &kind, &err),
                     -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_order),
        cmocka_unit_test(results_are_correct),
        cmocka_unit_test(statistics_ignore_nan_except_in_the_sum),
        cmocka_unit_test(a_mean_is_finished_by_its_share),
        cmocka_unit_test(closing_is_combining_and_finishing),
        cmocka_unit_test(wide_vectors_yield_the_same_bits),
        cmocka_unit_test(nothing_is_written_past_the_end),
        cmocka_unit_test(unsupported_pairs_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
