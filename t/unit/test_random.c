#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/session.h"

/* The vectors that Random123 publishes for philox4x32 with 10 rounds. */
static void philox_gives_the_published_vectors(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint32_t out[4];

        philox4x32_10(vectors[i].counter, vectors[i].key, out);
        assert_memory_equal(out, vectors[i].out, sizeof out);
    }
}

static void a_stream_is_its_position(void **state)
{
    struct random_stream a, b;
    uint64_t drawn[9];

    (void)state;
    random_stream_init(&a, 42, 3, 0);
    for (int i = 0; i < 9; i++)
        drawn[i] = random_stream_next(&a);
    for (int i = 0; i < 9; i++) {
        random_stream_init(&b, 42, 3, 0);
        b.drawn = (uint64_t)i;
        assert_true(random_stream_next(&b) == drawn[i]);
    }
}

static void streams_differ_by_seed_rank_and_kind(void **state)
{
    struct random_stream s[4];
    uint64_t first[4];

    (void)state;
    random_stream_init(&s[0], 1, 0, 0);
    random_stream_init(&s[1], 2, 0, 0);
    random_stream_init(&s[2], 1, 1, 0);
    random_stream_init(&s[3], 1, 0, 1);
    for (int i = 0; i < 4; i++) {
        first[i] = random_stream_next(&s[i]);
        for (int j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    }
}

/* The upper half of a 64-bit seed counts. */
static void seeds_have_64_bits(void **state)
{
    struct random_stream a, b;

    (void)state;
    random_stream_init(&a, 7, 0, 0);
    random_stream_init(&b, 7 + (UINT64_C(1) << 32), 0, 0);
    assert_true(random_stream_next(&a) != random_stream_next(&b));
}

static void uniform_and_normal_have_their_moments(void **state)
{
    enum { N = 20000 };
    raytrain_context ctx = {0};
    double sum = 0, squares = 0;

    (void)state;
    random_stream_init(&ctx.random.rank, 5, 0, 0);
    random_stream_init(&ctx.random.shared, 5, 0, 1);
    for (int i = 0; i < N; i++) {
        double u = raytrain_random_uniform(&ctx, RAYTRAIN_STREAM_RANK);

        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / N - 0.5) < 0.01);
    sum = 0;
    for (int i = 0; i < N; i++) {
        double z = raytrain_random_normal(&ctx, RAYTRAIN_STREAM_SHARED);

        assert_true(isfinite(z));
        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / N) < 0.03);
    assert_true(fabs(squares / N - 1) < 0.05);
    assert_true(ctx.random.shared.drawn == 2 * N);
}

static void misuse_does_not_crash(void **state)
{
    raytrain_context ctx = {0};

    (void)state;
    assert_true(raytrain_random_u64(NULL, RAYTRAIN_STREAM_RANK) == 0);
    assert_true(raytrain_random_uniform(&ctx, (raytrain_stream)7) == 0);
    assert_int_equal(ctx.error.code, RAYTRAIN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(a_stream_is_its_position),
        cmocka_unit_test(streams_differ_by_seed_rank_and_kind),
        cmocka_unit_test(seeds_have_64_bits),
        cmocka_unit_test(uniform_and_normal_have_their_moments),
        cmocka_unit_test(misuse_does_not_crash),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
