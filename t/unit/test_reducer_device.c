/*
 * test_reducer_device.c - gradients on GPUs, with the stand-in for NVIDIA's library
 * (t/device): when buckets start, what the host waits for, failures at each step of the
 * creation, and the end while other ranks do not respond.
 */
#include "config.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "session/session.h"
#include "device_standin.h"

/* ---- A communicator of two ranks; the other one has one more at each place ---- */

static struct {
    float *buf;
    size_t n;
} started[16];
static int n_started;
static bool responds; /* the other rank */
static _Alignas(64) char granted[4096];

struct comm_request {
    float *buf;
    size_t n;
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

/* What a reducer leaves behind that gives up. */
static struct comm_request *last_request;
static struct comm *last_comm;

static int fake_iallreduce(struct comm *c, enum comm_place place, void *buf, size_t n,
                           enum comm_type type, enum comm_op op,
                           struct comm_request **req, struct error *err)
{
    (void)c, (void)op, (void)err;
    assert_int_equal(place, COMM_HOST);
    assert_int_equal(type, COMM_FLOAT32);
    assert_true(n_started < 16);
    started[n_started].buf = buf;
    started[n_started++].n = n;
    *req = last_request = malloc(sizeof **req);
    **req = (struct comm_request){buf, n};
    return 0;
}

static int fake_test(struct comm *c, struct comm_request **req, bool *done,
                     struct error *err)
{
    (void)c, (void)err;
    *done = responds;
    if (!responds)
        return 0;
    for (size_t i = 0; i < (*req)->n; i++)
        (*req)->buf[i] += 0.5F;
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
    *data = granted;
    return 0;
}

/* The other rank sends what this one sends. */
static int fake_allgather(struct comm *c, const void *send, size_t n_bytes, void *recv,
                          struct error *err)
{
    (void)c, (void)err;
    memcpy(recv, send, n_bytes);
    memcpy((char *)recv + n_bytes, send, n_bytes);
    return 0;
}

static int fake_bcast(struct comm *c, void *buf, size_t n_bytes, int root,
                      struct error *err)
{
    (void)c, (void)buf, (void)n_bytes, (void)root, (void)err;
    return 0;
}

static int fake_dup(struct comm *c, struct comm **out, struct error *err)
{
    (void)err;
    *out = last_comm = malloc(sizeof **out);
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
    .allgather = fake_allgather,
    .bcast = fake_bcast,
    .dup = fake_dup,
    .free = fake_free,
};

static struct comm fake = {.ops = &fake_ops, .rank = 0, .size = 2};
static const struct backend backend = {.ops = &backend_none, .comm = &fake};
static raytrain_context ctx;

/* ---- Gradients of the GPU ---- */

#define N 8 /* elements of each */

static uint64_t memory; /* of two gradients, with a gap between them */

static int setup(void **state)
{
    static const struct train_config config;
    void *context;

    (void)state;
    memset(&ctx, 0, sizeof ctx);
    ctx.comm = ctx.user = &fake;
    ctx.env.backend = &backend;
    ctx.env.log_dir = "/nowhere";
    ctx.env.config = &config;
    n_started = 0;
    responds = true;
    return standin.primary_retain(&context, 0) || standin.set_current(context) ||
           standin.mem_alloc(&memory, 3 * N * sizeof(float));
}

static int teardown(void **state)
{
    (void)state;
    if (standin.mem_free(memory) || standin.primary_release(0))
        return -1;
    device_end();
    return standin.count(); /* nothing is left */
}

static raytrain_tensor gradient(int i)
{
    return (raytrain_tensor){.data = (float *)(uintptr_t)memory + (ptrdiff_t)2 * N * i,
                             .dtype = RAYTRAIN_FLOAT32,
                             .ndim = 1,
                             .shape = {N},
                             .device = RAYTRAIN_CUDA};
}

/* A kernel: gradient i becomes i + 1, i + 2, ... */
static void fill_run(void *arg)
{
    const raytrain_tensor *t = arg;
    float *to = standin.inside((uintptr_t)t->data);
    float first = (uintptr_t)t->data == memory ? 1 : 2;

    for (int k = 0; k < N; k++)
        to[k] = first + (float)k;
}

static float seen[N];

static void sight_run(void *arg)
{
    const raytrain_tensor *t = arg;

    memcpy(seen, standin.inside((uintptr_t)t->data), sizeof seen);
}

static void ready(raytrain_reducer *r, raytrain_tensor *t, size_t i)
{
    assert_int_equal(standin.launch(NULL, fill_run, t), 0);
    assert_int_equal(raytrain_reducer_ready(r, i), RAYTRAIN_OK);
}

/* ---- Tests ---- */

/* The stand-in has not run anything when it is asked for the first time. */
static void ready_waits_neither_for_the_device_nor_for_other_ranks(void **state)
{
    raytrain_tensor g[] = {gradient(0), gradient(1)};
    raytrain_reducer *r;

    (void)state;
    responds = false;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 1, &r), RAYTRAIN_OK);
    ready(r, &g[1], 1);
    ready(r, &g[0], 0);
    assert_int_equal(n_started, 0);
    responds = true;
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    assert_int_equal(n_started, 2);
    assert_true(started[0].buf[0] == 1.5F && started[1].buf[0] == 2.5F);
    raytrain_reducer_destroy(r);
}

/* The means are in host memory, not yet on the GPU: the caller's stream waits for
 * them. */
static void wait_does_not_wait_for_copies_to_the_device(void **state)
{
    raytrain_tensor g[] = {gradient(0), gradient(1)};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 1, &r), RAYTRAIN_OK);
    for (int step = 0; step < 3; step++) {
        n_started = 0;
        ready(r, &g[0], 0);
        ready(r, &g[1], 1);
        assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
        memset(started[1].buf, 0, 4); /* so the copy is still to come */
        assert_int_equal(standin.launch(NULL, sight_run, &g[1]), 0);
        assert_int_equal(standin.synchronize(NULL), 0);
        assert_true(seen[0] == 0);
        for (int k = 1; k < N; k++)
            assert_true(seen[k] == 2.5F + (float)k);
    }
    raytrain_reducer_destroy(r);
}

static void
memory_of_the_reducer_is_on_the_device_and_reduced_in_that_of_ranks(void **state)
{
    raytrain_tensor g[] = {gradient(0), gradient(1)};
    raytrain_reducer *r;
    char *data;

    (void)state;
    g[0].data = g[1].data = NULL;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 0, &r), RAYTRAIN_OK);
    data = raytrain_reducer_data(r, 0);
    assert_ptr_equal(raytrain_reducer_data(r, 1), data + N * sizeof(float));
    assert_int_equal(
        device_check(RAYTRAIN_CUDA, 0, data, 2 * N * sizeof(float), &ctx.error), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(raytrain_reducer_ready(r, i), RAYTRAIN_OK);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_OK);
    assert_int_equal(n_started, 1);
    assert_ptr_equal(started[0].buf, granted);
    for (int k = 0; k < 2 * N; k++)
        assert_true(started[0].buf[k] == 0.5F);
    raytrain_reducer_destroy(r);
}

/* Each call of the library in turn, until all have failed once. */
static const char *const calls[] = {
    "cuStreamCreate", "cuEventCreate",      "cuMemAlloc_v2", "cuMemsetD8Async",
    "cuMemHostAlloc", "cuEventSynchronize", "cuEventRecord", "cuCtxPushCurrent_v2"};

static void a_failure_at_any_step_of_the_creation_leaves_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        int rc = RAYTRAIN_EFAILED;

        for (int nth = 1; rc != RAYTRAIN_OK; nth++) {
            raytrain_tensor g[] = {gradient(0), gradient(1)};
            raytrain_reducer *r = NULL;
            char fail[64];

            g[1].data = NULL;
            assert_int_equal(device_check(RAYTRAIN_CUDA, 0, g[0].data, 1, &ctx.error),
                             0); /* the GPU is known */
            snprintf(fail, sizeof fail, "%s:%d", calls[k], nth);
            setenv("STANDIN_CUDA_FAIL", fail, 1);
            rc = raytrain_reducer_create(&ctx, g, 2, 1, &r);
            unsetenv("STANDIN_CUDA_FAIL");
            assert_int_equal(device_check(RAYTRAIN_CUDA, 0, (void *)(uintptr_t)memory,
                                          1, &ctx.error),
                             0);
            assert_true(nth > 1 || rc == RAYTRAIN_EFAILED);
            if (rc == RAYTRAIN_OK)
                raytrain_reducer_destroy(r);
            device_end();
            assert_int_equal(standin.count(), 2); /* the memory, and the context */
        }
    }
}

/* What the MPI library may still use is left to it, and everything else is given
 * back. */
static void destroy_gives_up_ranks_that_do_not_respond(void **state)
{
    raytrain_tensor g[] = {gradient(0), gradient(1)};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 1, &r), RAYTRAIN_OK);
    responds = false;
    ready(r, &g[0], 0);
    raytrain_reducer_destroy(r);
    device_end();
    assert_int_equal(standin.count(), 3); /* and pinned memory */
    free(last_request);
    free(last_comm);
}

static void a_copy_that_fails_breaks_the_reducer(void **state)
{
    raytrain_tensor g[] = {gradient(0), gradient(1)};
    raytrain_reducer *r;

    (void)state;
    assert_int_equal(raytrain_reducer_create(&ctx, g, 2, 0, &r), RAYTRAIN_OK);
    ready(r, &g[0], 0);
    setenv("STANDIN_CUDA_FAIL", "cuMemcpyHtoDAsync_v2:1", 1);
    ready(r, &g[1], 1);
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_EFAILED);
    unsetenv("STANDIN_CUDA_FAIL");
    assert_int_equal(raytrain_reducer_wait(r), RAYTRAIN_ECOMM);
    assert_int_equal(raytrain_reducer_ready(r, 0), RAYTRAIN_ECOMM);
    raytrain_reducer_destroy(r);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(ready_waits_neither_for_the_device_nor_for_other_ranks),
        TEST(wait_does_not_wait_for_copies_to_the_device),
        TEST(memory_of_the_reducer_is_on_the_device_and_reduced_in_that_of_ranks),
        TEST(a_failure_at_any_step_of_the_creation_leaves_nothing),
        TEST(a_copy_that_fails_breaks_the_reducer),
        /* It leaves something. */
        cmocka_unit_test_setup(destroy_gives_up_ranks_that_do_not_respond, setup),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, standin_load, NULL);
}
