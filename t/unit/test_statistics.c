/* Statistics of columns: moments, quantiles, and the power of greatest likelihood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame/frame.h"
#include "preprocess/moments.h"
#include "preprocess/power_fit.h"
#include "preprocess/quantiles.h"

#define N_MAX 4000

static struct error err;
static struct comm *self;

static int self_make(void **state)
{
    (void)state;
    self = comm_self_create(&err);
    return self ? 0 : -1;
}

static int self_free(void **state)
{
    (void)state;
    comm_free(self);
    return 0;
}

/* A column of float64 whose memory is the caller's. */
static struct frame_column view(double *values, uint64_t width)
{
    return (struct frame_column){
        .name = "x",
        .kind = FRAME_NUMBERS,
        .row = {.dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {width}},
        .data = (unsigned char *)values};
}

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

static double uniform(void)
{
    return (double)(random_bits() >> 11) / 9007199254740992.0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Element j of rows of width numbers, sorted and without the missing ones. */
static size_t sorted(const double *x, size_t rows, size_t width, size_t j, double *out)
{
    size_t n = 0;

    for (size_t i = 0; i < rows; i++)
        if (!isnan(x[i * width + j]))
            out[n++] = x[i * width + j];
    qsort(out, n, sizeof *out, by_value);
    return n;
}

static void assert_quantiles(double *x, size_t rows, size_t width)
{
    static const double at[] = {0.25, 0.5, 0.999};
    struct frame_column c = view(x, width);
    double order[N_MAX];
    struct quantiles q;
    bool again = true;
    int passes = 0;

    assert_int_equal(quantiles_create(&q, width, 3, at, &err), 0);
    for (; again; passes++) {
        quantiles_add(&q, &c, rows);
        assert_int_equal(quantiles_reduce(&q, self, &again, &err), 0);
    }
    assert_true(passes <= 6);
    for (size_t j = 0; j < width; j++) {
        size_t n = sorted(x, rows, width, j, order);

        for (size_t k = 0; k < 3; k++) {
            double value = quantiles_get(&q, j, k), position = at[k] * (double)(n - 1);
            size_t low = (size_t)position, high = low + 1 < n ? low + 1 : low;

            if (n == 0) {
                assert_true(isnan(value));
                continue;
            }
            assert_true(value >= order[low] && value <= order[high]);
            position =
                order[low] + (order[high] - order[low]) * (position - (double)low);
            assert_true(fabs(value - position) <= 1e-14 * fabs(position));
        }
    }
    quantiles_free(&q);
}

static void quantiles_are_those_of_the_sorted_values(void **state)
{
    double x[N_MAX];

    (void)state;
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = uniform() - 0.3;
    for (size_t n = 1; n < 12; n++)
        assert_quantiles(x, n, 1);
    assert_quantiles(x, N_MAX, 1);
    assert_quantiles(x, N_MAX / 7, 7);
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = i % 5 == 2 ? NAN : exp(200 * x[i]) * (i % 3 ? 1 : -1);
    assert_quantiles(x, N_MAX / 3, 3);
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = (double)(random_bits() % 4);
    assert_quantiles(x, N_MAX, 1);
    for (size_t i = 0; i < N_MAX; i++) /* differ in their last bits only */
        x[i] = 1 + (double)(random_bits() % 64) * 0x1p-52;
    assert_quantiles(x, N_MAX, 1);
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = NAN;
    assert_quantiles(x, N_MAX, 1);
}

static void the_variance_of_a_small_spread_around_a_large_mean_is_exact(void **state)
{
    double x[N_MAX];
    struct frame_column c = view(x, 2);
    struct moments m;

    (void)state;
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = 1e9 + (i % 4 < 2 ? 1.0 / 1024 : -1.0 / 1024);
    x[10] = NAN;
    x[12] = NAN;
    assert_int_equal(moments_create(&m, 2, &err), 0);
    for (size_t done = 0; done < N_MAX / 2; done += 100) {
        c.data = (unsigned char *)(x + 2 * done);
        moments_add(&m, &c, 100);
    }
    assert_int_equal(moments_reduce(&m, self, &err), 0);
    assert_true(m.of[0].n == N_MAX / 2 - 2 && m.of[1].n == N_MAX / 2);
    assert_true(m.of[1].mean == 1e9);
    assert_true(fabs(m.of[1].m2 * 1024 * 1024 / (N_MAX / 2) - 1) < 1e-12);
    moments_free(&m);
}

static void equal_values_have_no_variance(void **state)
{
    double x[N_MAX];
    struct frame_column c = view(x, 1);
    struct moments m;

    (void)state;
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = i < 3 ? NAN : 0.1;
    assert_int_equal(moments_create(&m, 1, &err), 0);
    for (size_t i = 0; i < 20; i++)
        moments_add(&m, &c, N_MAX - 31 * i);
    assert_int_equal(moments_reduce(&m, self, &err), 0);
    assert_true(m.of[0].mean == 0.1 && m.of[0].m2 == 0);
    moments_free(&m);
}

static double power_found(double *x, enum power_method method, int *passes)
{
    struct frame_column c = view(x, 1);
    struct power_fit f;
    bool again = true;
    double power;

    assert_int_equal(power_fit_create(&f, method, 1, &err), 0);
    for (*passes = 0; again; ++*passes) {
        if (power_fit_add(&f, &c, N_MAX, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(power_fit_reduce(&f, self, &again, &err), 0);
    }
    power = power_fit_get(&f, 0);
    power_fit_free(&f);
    return power;
}

static double likelihood(const double *x, enum power_method method, double power)
{
    double mean = 0, m2 = 0, logs = 0;

    for (size_t i = 0; i < N_MAX; i++) {
        mean += power_transform(method, power, x[i]) / N_MAX;
        logs += method == POWER_BOX_COX ? log(x[i]) : copysign(log1p(fabs(x[i])), x[i]);
    }
    for (size_t i = 0; i < N_MAX; i++) {
        double d = power_transform(method, power, x[i]) - mean;

        m2 += d * d;
    }
    return (power - 1) * logs - N_MAX / 2.0 * log(m2 / N_MAX);
}

static void the_power_found_has_the_greatest_likelihood(void **state)
{
    double x[N_MAX], power;
    int passes;

    (void)state;
    for (int shape = 0; shape < 6; shape++) {
        enum power_method method = shape % 2 ? POWER_BOX_COX : POWER_YEO_JOHNSON;

        for (size_t i = 0; i < N_MAX; i++) {
            double u = uniform();

            x[i] = shape < 2   ? u + 0.01
                   : shape < 4 ? exp(3 * uniform()) - (shape == 2)
                               : 10 + pow(u, 0.1);
        }
        power = power_found(x, method, &passes);
        assert_true(passes <= 12);
        for (double d = 1e-3; d < 5; d *= 3) {
            assert_true(likelihood(x, method, power) >
                        likelihood(x, method, power + d));
            assert_true(likelihood(x, method, power) >
                        likelihood(x, method, power - d));
        }
    }
}

static void equal_values_keep_the_power_1(void **state)
{
    double x[N_MAX];
    int passes;

    (void)state;
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = 5;
    assert_true(power_found(x, POWER_YEO_JOHNSON, &passes) == 1);
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = NAN;
    assert_true(power_found(x, POWER_BOX_COX, &passes) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_sorted_values),
        cmocka_unit_test(the_variance_of_a_small_spread_around_a_large_mean_is_exact),
        cmocka_unit_test(equal_values_have_no_variance),
        cmocka_unit_test(the_power_found_has_the_greatest_likelihood),
        cmocka_unit_test(equal_values_keep_the_power_1),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, self_make, self_free);
}
