#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/session.h"

/*
 * A communicator of two ranks; the other one holds one more at each place: a
 * mean is a half more. Requests finish at the third test, the newest first.
 */
#define STARTED_MAX 16

static struct {
    void *buf;
    size_t n;
    enum comm_type type;
} started[STARTED_MAX];
static int n_started, n_tests;
static _Alignas(64) float granted[64];
static size_t n_granted;

struct comm_request {
    void *buf;
    size_t n;
    enum comm_type type;
    int tests_left;
};

static int fake_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                          enum comm_op op, struct error *err)
{
    (void)c, (void)buf, (void)n, (void)type, (void)op, (void)err;
    return 0;
}

static int fake_allreduce_matched(struct comm *c, int call, void *buf, size_t n,
                                  enum comm_type type, enum comm_op op, bool *same,
                                  struct error *err)
{
    (void)c, (void)call, (void)buf, (void)n, (void)type, (void)op, (void)err;
    *same = true;
    return 0;
}

static int fake_iallreduce(struct comm *c, enum comm_place place, void *buf, size_t n,
                           enum comm_type type, enum comm_op op,
                           struct comm_request **req, struct error *err)
{
    (void)c, (void)err;
    assert_int_equal(place, COMM_HOST);
    assert_true(type == COMM_FLOAT32 || type == COMM_FLOAT64);
    assert_int_equal(op, COMM_MEAN);
    assert_true(n_started < STARTED_MAX);
    started[n_started].buf = buf;
    started[n_started].type = type;
    started[n_started++].n = n;
    *req = malloc(sizeof **req);
    **req = (struct comm_request){buf, n, type, 6 - n_started % 4};
    return 0;
}

static int fake_test(struct comm *c, struct comm_request **req, bool *done,
                     struct error *err)
{
    (void)c, (void)err;
    n_tests++;
    *done = --(*req)->tests_left <= 0;
    if (!*done)
        return 0;
    for (size_t i = 0; i < (*req)->n; i++) {
        if ((*req)->type == COMM_FLOAT32)
            ((float *)(*req)->buf)[i] += 0.5F;
        else
            ((double *)(*req)->buf)[i] += 0.5;
    }
    free(*req);
    *req = NULL;
    return 0;
}

static int fake_alloc(struct comm *c, enum comm_place place, size_t n_bytes,
                      void **data, struct error *err)
{
    (void)c, (void)err;
    assert_int_equal(place, COMM_HOST);
    assert_true(n_bytes <= sizeof granted);
    n_granted = n_bytes;
    *data = granted;
    return 0;
}

static int fake_dup(struct comm *c, struct comm **out, struct error *err)
{
    (void)err;
    *out = malloc(sizeof **out);
    **out = *c;
    return 0;
}

static void fake_free(struct comm *c)
{
    free(c);
}

static const struct comm_ops fake_ops = {
    .name = "fake",
    .allreduce = fake_allreduce,
    .iallreduce = fake_iallreduce,
    .test = fake_test,
    .allreduce_matched = fake_allreduce_matched,
    .alloc = fake_alloc,
    .dup = fake_dup,
    .free = fake_free,
};

static struct comm fake = {.ops = &fake_ops, .rank = 0, .size = 2};
static const struct backend backend = {.ops = &backend_none, .comm = &fake};
static raytrain_context ctx;
static float memory[64];

static int setup(void **state)
{
    (void)state;
    memset(&ctx, 0, sizeof ctx);
    ctx.comm = ctx.user = &fake;
    ctx.env.backend = &backend;
    fake.size = 2;
    n_started = n_tests = 0;
    n_granted = 1;
    for (int i = 0; i < 64; i++)
        memory[i] = (float)i;
    return 0;
}

static raytrain_tensor gradient(float *data, uint64_t n)
{
    return (raytrain_tensor){
        .data = data, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {n}};
}

/* memory[begin..end) went through `times` means, the rest through none. */
static void averaged(int begin, int end, int times)
{
    for (int i = 0; i < 64; i++)
        assert_true(memory[i] ==
                    (float)i + (i >= begin && i < end ? 0.5F * (float)times : 0));
}

static void adjacent_tensors_go_as_one_in_place(void **state)
{
    /* Like the layers of a network: the last one is finished first. */
    raytrain_tensor g[] = {gradient(memory + 24, 8), gradient(memory + 8, 16),
                           gradient(memory, 8)};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 3, 1 << 20, &r), RAYTRAIN_OK);
    for (int step = 0; step < 2; step++) {
        n_started = 0;
        assert_int_equal(raytrain_reducer_ready(r, 0), RAYTRAIN_OK);
        assert_int_equal(raytrain_reducer_ready(r, 1), RAYTRAIN_OK);
        assert_int_equal(n_started, 0);
        assert_int_equal(raytrain_reducer_ready(r, 2), RAYTRAIN_OK);
        assert_int_equal(n_started, 1);
        assert_ptr_equal(started[0].buf, memory);
        assert_int_equal(started[0].n, 32);
        assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
        averaged(0, 32, step + 1);
    }
    assert_int_equal(n_granted, 0);
    raytrain_reducer_destroy(r);
}

static void scattered_tensors_are_copied_and_come_back(void **state)
{
    raytrain_tensor g[] = {gradient(memory + 40, 4), gradient(memory + 8, 16),
                           gradient(NULL, 0), gradient(memory, 3)};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 4, 1 << 20, &r), RAYTRAIN_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(raytrain_reducer_ready(r, i), RAYTRAIN_OK);
    assert_int_equal(n_started, 1);
    assert_int_equal(started[0].n, 23);
    assert_true((float *)started[0].buf < memory ||
                (float *)started[0].buf >= memory + 64);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    for (int i = 0; i < 64; i++) {
        bool in = i < 3 || (i >= 8 && i < 24) || (i >= 40 && i < 44);

        assert_true(memory[i] == (float)i + (in ? 0.5F : 0));
    }
    raytrain_reducer_destroy(r);
}

/* Between them one that has its own: a bucket may hold both kinds. */
static void tensors_without_memory_are_adjacent(void **state)
{
    raytrain_tensor g[] = {gradient(NULL, 5), gradient(NULL, 3), gradient(memory, 2),
                           gradient(NULL, 0), gradient(NULL, 7)};
    raytrain_reducer *r;

    (void)state;
    memset(granted, 0, sizeof granted);
    assert_int_equal(raytrain_reducer_create(&ctx, g, 5, 32, &r), RAYTRAIN_OK);
    assert_int_equal(n_granted, 15 * sizeof(float));
    assert_ptr_equal(raytrain_reducer_data(r, 0), granted);
    assert_ptr_equal(raytrain_reducer_data(r, 1), granted + 5);
    assert_ptr_equal(raytrain_reducer_data(r, 2), memory);
    assert_ptr_equal(raytrain_reducer_data(r, 4), granted + 8);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(raytrain_reducer_ready(r, i), RAYTRAIN_OK);
    assert_int_equal(n_started, 2);
    assert_ptr_equal(started[0].buf, granted);
    assert_int_equal(started[0].n, 8);
    assert_int_equal(started[1].n, 9);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    for (int i = 0; i < 64; i++)
        assert_true(granted[i] == (i < 15 ? 0.5F : 0));
    averaged(0, 2, 1);
    assert_null(raytrain_reducer_data(r, 5));
    assert_null(raytrain_reducer_data(NULL, 0));
    raytrain_reducer_destroy(r);
}

static void float64_is_averaged_as_it_is(void **state)
{
    _Alignas(64) double data[8] = {0x1p53 - 1, 1.0 / 3};
    raytrain_tensor g = {
        .data = data, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {8}};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, &g, 1, 0, &r), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_ready(r, 0), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    assert_ptr_equal(started[0].buf, data);
    assert_int_equal(started[0].type, COMM_FLOAT64);
    assert_int_equal(started[0].n, 8);
    assert_true(data[0] == 0x1p53 - 1 + 0.5 && data[1] == 1.0 / 3 + 0.5);
    raytrain_reducer_destroy(r);
}

/* The mean is a half more, which takes the numbers beyond 1, where a bfloat16 has one
 * bit less for the fraction: halfway between two, the even one is taken. */
static void sixteen_bits_are_averaged_as_float32(void **state)
{
    uint16_t brain[3] = {0x3f01, 0x3f03, 0xbf00}, half[2] = {0x3c02, 0xb800};
    raytrain_tensor g[] = {
        {.data = brain, .dtype = RAYTRAIN_BFLOAT16, .ndim = 1, .shape = {3}},
        {.data = half, .dtype = RAYTRAIN_FLOAT16, .ndim = 1, .shape = {2}}};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 0, &r), RAYTRAIN_OK);
    for (int step = 0; step < 2; step++) {
        n_started = 0;
        assert_int_equal(raytrain_reducer_ready(r, 0), RAYTRAIN_OK);
        assert_int_equal(raytrain_reducer_ready(r, 1), RAYTRAIN_OK);
        assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
        assert_int_equal(n_started, 2);
        for (int i = 0; i < 2; i++) {
            float *buf = started[i].buf;

            assert_int_equal(started[i].type, COMM_FLOAT32);
            assert_true(buf >= granted && buf + started[i].n <= granted + 64);
        }
        if (step == 0) {
            assert_int_equal(brain[0], 0x3f80); /* 1.00390625: to 1 */
            assert_int_equal(brain[1], 0x3f82); /* 1.01171875: to 1.015625 */
            assert_int_equal(brain[2], 0);
            assert_int_equal(half[0], 0x3e02); /* 1.501953125 */
            assert_int_equal(half[1], 0);
        }
    }
    assert_true(brain[0] == 0x3fc0 && half[0] == 0x4001);
    raytrain_reducer_destroy(r);
}

/* Their memory, too: each type begins at an aligned address. */
static void a_bucket_has_one_type(void **state)
{
    raytrain_tensor g[] = {gradient(NULL, 3), gradient(NULL, 2), gradient(NULL, 2),
                           gradient(NULL, 5)};
    raytrain_reducer *r;

    (void)state;
    g[2].dtype = RAYTRAIN_FLOAT64;
    g[3].dtype = RAYTRAIN_BFLOAT16;
    memset(granted, 0, sizeof granted);
    assert_int_equal(raytrain_reducer_create(&ctx, g, 4, 1 << 20, &r), RAYTRAIN_OK);
    assert_ptr_equal(raytrain_reducer_data(r, 1), granted + 3);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal((uintptr_t)raytrain_reducer_data(r, i) % 64, i == 1 ? 12 : 0);
        assert_int_equal(raytrain_reducer_ready(r, i), RAYTRAIN_OK);
    }
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    assert_int_equal(n_started, 3);
    assert_int_equal(started[0].n, 5);
    assert_int_equal(started[1].n, 2);
    assert_int_equal(started[1].type, COMM_FLOAT64);
    assert_true(*(double *)raytrain_reducer_data(r, 2) == 0.5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(((uint16_t *)raytrain_reducer_data(r, 3))[i], 0x3f00);
    raytrain_reducer_destroy(r);
}

static void buckets_start_in_index_order(void **state)
{
    raytrain_tensor g[] = {gradient(memory, 8), gradient(memory + 8, 8),
                           gradient(memory + 16, 8)};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 3, 32, &r), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_ready(r, 2), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_ready(r, 1), RAYTRAIN_OK);
    assert_int_equal(n_started, 0);
    assert_int_equal(raytrain_reducer_ready(r, 0), RAYTRAIN_OK);
    assert_int_equal(n_started, 3);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(started[i].buf, memory + 8 * i);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    averaged(0, 24, 1);
    raytrain_reducer_destroy(r);
}

static void ready_keeps_the_library_going(void **state)
{
    raytrain_tensor g[] = {gradient(memory, 8), gradient(memory + 8, 8),
                           gradient(memory + 16, 8)};
    raytrain_reducer *r;
    int before;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 3, 64, &r), RAYTRAIN_OK);
    raytrain_reducer_ready(r, 0);
    raytrain_reducer_ready(r, 1);
    before = n_tests;
    assert_true(before > 0);
    raytrain_reducer_ready(r, 2);
    assert_true(n_tests > before);
    raytrain_reducer_destroy(r); /* with buckets on their way */
}

static void misuse_is_an_error(void **state)
{
    raytrain_tensor g[] = {gradient(memory, 8), gradient(memory + 8, 8)};
    raytrain_tensor wrong = {
        .data = memory, .dtype = RAYTRAIN_INT64, .ndim = 1, .shape = {2}};
    raytrain_tensor huge = {.data = memory,
                            .dtype = RAYTRAIN_FLOAT32,
                            .ndim = 2,
                            .shape = {UINT64_C(1) << 33, UINT64_C(1) << 33}};
    raytrain_tensor elsewhere = gradient(memory, 8);
    raytrain_reducer *r = NULL;

    (void)state;
    elsewhere.device = 7;
    fake.size = 1;
    assert_int_equal(raytrain_reducer_create(&ctx, &elsewhere, 1, 0, &r),
                     RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(raytrain_last_error(&ctx), "gradient 0"));
    assert_int_equal(raytrain_reducer_create(&ctx, &wrong, 1, 0, &r), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create(&ctx, &huge, 1, 0, &r), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create(&ctx, g, 0, 0, &r), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create(&ctx, NULL, 2, 0, &r), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create(NULL, g, 2, 0, &r), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 0, NULL), RAYTRAIN_EINVAL);
    assert_null(r);
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 0, &r), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_ready(r, 2), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_ready(r, 1), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_ready(r, 1), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_EINVAL);
    assert_string_equal(raytrain_last_error(&ctx),
                        "raytrain_reducer_wait: gradient 0 is not ready yet");
    assert_int_equal(raytrain_reducer_ready(r, 0), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_ready(NULL, 0), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_wait(NULL), RAYTRAIN_EINVAL);
    raytrain_reducer_destroy(r);
    raytrain_reducer_destroy(NULL);
}

static void a_sharded_reducer_of_one_rank_has_everything(void **state)
{
    raytrain_tensor g[] = {gradient(NULL, 8), gradient(NULL, 3)};
    raytrain_tensor p = gradient(memory, 8);
    raytrain_reducer *r = NULL;
    raytrain_slab slab;
    size_t first, n;

    (void)state;
    fake.size = 1;
    assert_int_equal(raytrain_reducer_create_sharded(&ctx, g, 2, &p, 1, 0, &r),
                     RAYTRAIN_OK);
    assert_ptr_equal(raytrain_reducer_param(r, 0), memory);
    assert_int_equal(raytrain_reducer_shard(r, 0, &slab, &first, &n), RAYTRAIN_OK);
    assert_true(first == 0 && n == 8 && slab.start[0] == 0 && slab.count[0] == 8);
    assert_int_equal(raytrain_reducer_gather(r), RAYTRAIN_OK);
    assert_null(raytrain_reducer_param(r, 1));
    assert_int_equal(raytrain_reducer_shard(r, 1, NULL, &first, &n), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_shard(r, 0, NULL, NULL, &n), RAYTRAIN_EINVAL);
    raytrain_reducer_destroy(r);
}

static void misuse_of_a_sharded_reducer_is_an_error(void **state)
{
    raytrain_tensor g = gradient(NULL, 8), p = gradient(NULL, 9), two[2];
    raytrain_reducer *r = NULL;
    size_t first, n;

    (void)state;
    fake.size = 1;
    two[0] = two[1] = g;
    assert_int_equal(raytrain_reducer_create_sharded(&ctx, &g, 1, &p, 1, 0, &r),
                     RAYTRAIN_EINVAL);
    assert_non_null(strstr(raytrain_last_error(&ctx), "another shape"));
    assert_int_equal(raytrain_reducer_create_sharded(&ctx, &g, 1, two, 2, 0, &r),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create_sharded(&ctx, &g, 1, NULL, 1, 0, &r),
                     RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_create(&ctx, &g, 1, 0, &r), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_gather(r), RAYTRAIN_EINVAL);
    assert_int_equal(raytrain_reducer_shard(r, 0, NULL, &first, &n), RAYTRAIN_EINVAL);
    assert_non_null(strstr(raytrain_last_error(&ctx), "not sharded"));
    assert_int_equal(raytrain_reducer_gather(NULL), RAYTRAIN_EINVAL);
    assert_null(raytrain_reducer_param(NULL, 0));
    raytrain_reducer_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(adjacent_tensors_go_as_one_in_place, setup),
        cmocka_unit_test_setup(scattered_tensors_are_copied_and_come_back, setup),
        cmocka_unit_test_setup(tensors_without_memory_are_adjacent, setup),
        cmocka_unit_test_setup(float64_is_averaged_as_it_is, setup),
        cmocka_unit_test_setup(sixteen_bits_are_averaged_as_float32, setup),
        cmocka_unit_test_setup(a_bucket_has_one_type, setup),
        cmocka_unit_test_setup(buckets_start_in_index_order, setup),
        cmocka_unit_test_setup(ready_keeps_the_library_going, setup),
        cmocka_unit_test_setup(misuse_is_an_error, setup),
        cmocka_unit_test_setup(a_sharded_reducer_of_one_rank_has_everything, setup),
        cmocka_unit_test_setup(misuse_of_a_sharded_reducer_is_an_error, setup),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
