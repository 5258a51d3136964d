/* 16-bit floats: every one of them there and back, and rounding against arithmetic that
 * does not look at bits. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/half.h"

#define COUNT 65536

static float float16_of(uint16_t h)
{
    float f;

    float16_widen(&f, &h, 1);
    return f;
}

static uint16_t float16_from(float f)
{
    uint16_t h;

    float16_narrow(&h, &f, 1);
    return h;
}

static float bfloat16_of(uint16_t h)
{
    float f;

    bfloat16_widen(&f, &h, 1);
    return f;
}

static uint16_t bfloat16_from(float f)
{
    uint16_t h;

    bfloat16_narrow(&h, &f, 1);
    return h;
}

/* What the bits of a float16 mean, by the standard. */
static double float16_meaning(unsigned h)
{
    int exponent = h >> 10 & 31;
    double fraction = h & 1023, sign = h & 0x8000 ? -1 : 1;

    if (exponent == 31)
        return fraction == 0 ? sign * HUGE_VAL : (double)NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static void every_float16_has_its_value(void **state)
{
    (void)state;
    for (unsigned h = 0; h < COUNT; h++) {
        double meaning = float16_meaning(h), got = float16_of((uint16_t)h);

        if (isnan(meaning) ? !isnan(got)
                           : got != meaning || signbit(got) != signbit(meaning))
            fail_msg("float16 %04x is %g, not %g", h, got, meaning);
    }
}

static void every_float16_comes_back(void **state)
{
    (void)state;
    for (unsigned h = 0; h < COUNT; h++) {
        float f = float16_of((uint16_t)h);
        uint16_t back = float16_from(f);

        if (isnan(f) ? !isnan(float16_of(back)) : back != h)
            fail_msg("float16 %04x comes back as %04x", h, back);
    }
}

/* Between two neighbours: the nearer one, and the even one from the middle. */
static void float16_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7bff; h++) {
        double low = float16_meaning(h), high = float16_meaning(h + 1);
        float middle = (float)((low + high) / 2);
        unsigned even = h & 1 ? h + 1 : h;

        if (float16_from(middle) != even || float16_from(-middle) != (even | 0x8000) ||
            float16_from(nextafterf(middle, 0)) != h ||
            float16_from(nextafterf(middle, INFINITY)) != h + 1)
            fail_msg("between float16 %04x and the next", h);
    }
}

static void float16_ends_at_infinity_and_zero(void **state)
{
    (void)state;
    assert_int_equal(float16_from(65519.996f), 0x7bff);
    assert_int_equal(float16_from(65520), 0x7c00);
    assert_int_equal(float16_from(FLT_MAX), 0x7c00);
    assert_int_equal(float16_from(-INFINITY), 0xfc00);
    assert_int_equal(float16_from(0x1p-25f), 0);
    assert_int_equal(float16_from(0x1.000002p-25f), 1);
    assert_int_equal(float16_from(-FLT_TRUE_MIN), 0x8000);
    assert_true(isnan(float16_of(float16_from(NAN))));
}

static void every_bfloat16_comes_back(void **state)
{
    (void)state;
    for (unsigned h = 0; h < COUNT; h++) {
        float f = bfloat16_of((uint16_t)h);
        uint16_t back = bfloat16_from(f);

        if (isnan(f) ? !isnan(bfloat16_of(back)) : back != h)
            fail_msg("bfloat16 %04x comes back as %04x", h, back);
    }
}

static void bfloat16_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7f7f; h++) {
        double low = bfloat16_of((uint16_t)h), high = bfloat16_of((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2);
        unsigned even = h & 1 ? h + 1 : h;

        if (bfloat16_from(middle) != even ||
            bfloat16_from(-middle) != (even | 0x8000) ||
            bfloat16_from(nextafterf(middle, 0)) != h ||
            bfloat16_from(nextafterf(middle, INFINITY)) != h + 1)
            fail_msg("between bfloat16 %04x and the next", h);
    }
    assert_int_equal(bfloat16_from(FLT_MAX), 0x7f80);
}

/* One whose payload is in the bits that are cut. */
static void a_small_nan_stays_a_nan(void **state)
{
    const uint32_t bits = 0x7f800001;
    float f;

    (void)state;
    memcpy(&f, &bits, sizeof f);
    assert_true(isnan(bfloat16_of(bfloat16_from(f))));
    assert_true(isnan(float16_of(float16_from(f))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_float16_has_its_value),
        cmocka_unit_test(every_float16_comes_back),
        cmocka_unit_test(float16_rounds_to_nearest_even),
        cmocka_unit_test(float16_ends_at_infinity_and_zero),
        cmocka_unit_test(every_bfloat16_comes_back),
        cmocka_unit_test(bfloat16_rounds_to_nearest_even),
        cmocka_unit_test(a_small_nan_stays_a_nan),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
