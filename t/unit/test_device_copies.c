/*
 * test_device_copies.c - copies from a GPU in the background, copies to it by several
 * threads, and batches on their way there, with the stand-in for NVIDIA's library
 * (t/device).
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/copies.h"
#include "device/device.h"
#include "device/feed.h"
#include "raytrain.h"
#include "device_standin.h"

/* Memory of GPU 0, whose primary context is current then. */
static unsigned char *device_alloc(size_t n)
{
    void *context;
    uint64_t p;

    assert_int_equal(standin.primary_retain(&context, 0), 0);
    assert_int_equal(standin.set_current(context), 0);
    assert_int_equal(standin.mem_alloc(&p, n), 0);
    return (unsigned char *)(uintptr_t)p;
}

/* Everything is given back, what raytrain has as well. */
static void device_free(void *p)
{
    if (p)
        assert_int_equal(standin.mem_free((uintptr_t)p), 0);
    assert_int_equal(standin.primary_release(0), 0);
    device_end();
    assert_int_equal(standin.count(), 0);
}

/* A kernel: n bytes become `value`, or, with `seen`, are copied there. */
struct kernel {
    void *p;
    size_t n;
    int value;
    unsigned char *seen;
};

static void kernel_run(void *arg)
{
    const struct kernel *k = arg;
    unsigned char *at = standin.inside((uintptr_t)k->p);

    if (k->seen)
        memcpy(k->seen, at, k->n);
    else
        memset(at, k->value, k->n);
}

static void all_are(const unsigned char *p, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            fail_msg("byte %zu of %zu is %d, not %d", i, n, p[i], value);
}

/* ---- Copies in the background ---- */

#define N    ((size_t)3 << 20)
#define ROOM (2 * N)

static unsigned char *pages(void)
{
    return aligned_alloc(4096, ROOM);
}

static void start(struct device_copies *c, void *from, void *to, bool stays)
{
    struct error err;

    assert_int_equal(device_copies_start(c, RAYTRAIN_CUDA, 0, from, to, N, stays, &err),
                     0);
}

/* One kernel before, one after: the copy of what may change at once is complete. */
static void what_may_change_is_copied_when_settled(void **state)
{
    unsigned char *p = device_alloc(N), *to = pages();
    struct kernel before = {p, N, 1, NULL}, after = {p, N, 2, NULL};
    struct device_copies *c;
    struct error err;

    (void)state;
    assert_int_equal(device_copies_create(&c, &err), 0);
    for (int save = 0; save < 2; save++) {
        device_copies_begin(c, to, ROOM);
        before.value = 10 + save;
        assert_int_equal(standin.launch(NULL, kernel_run, &before), 0);
        start(c, p, to, false);
        assert_int_equal(device_copies_settle(c, &err), 0);
        all_are(to, N, 10 + save);
        assert_int_equal(standin.launch(NULL, kernel_run, &after), 0);
        assert_int_equal(standin.synchronize(NULL), 0);
        assert_int_equal(device_copies_wait(c, &err), 0);
        all_are(to, N, 10 + save);
    }
    assert_false(device_copies_refused(c, &err));
    device_copies_destroy(c);
    free(to);
    device_free(p);
}

static void *wait_run(void *arg)
{
    struct error err;

    return device_copies_wait(arg, &err) == 0 ? arg : NULL;
}

/* Settling does not wait for it, and what is queued after a fence comes after it. */
static void what_stays_is_copied_later(void **state)
{
    unsigned char *p = device_alloc(N), *to = pages();
    struct kernel before = {p, N, 1, NULL}, after = {p, N, 2, NULL};
    struct device_copies *c;
    pthread_t thread;
    struct error err;
    void *ok;

    (void)state;
    memset(to, 77, ROOM);
    assert_int_equal(device_copies_create(&c, &err), 0);
    device_copies_begin(c, to, ROOM);
    assert_int_equal(standin.launch(NULL, kernel_run, &before), 0);
    start(c, p, to, true);
    assert_int_equal(device_copies_settle(c, &err), 0);
    all_are(to, N, 77);
    assert_int_equal(device_copies_fence(c, &err), 0);
    all_are(to, N, 77);
    assert_int_equal(standin.launch(NULL, kernel_run, &after), 0);
    assert_int_equal(standin.synchronize(NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_run, c), 0);
    assert_int_equal(pthread_join(thread, &ok), 0);
    assert_non_null(ok);
    all_are(to, N, 1);
    device_copies_destroy(c);
    free(to);
    device_free(p);
}

static void memory_that_cannot_be_pinned_is_copied_to_at_once(void **state)
{
    unsigned char *p = device_alloc(N), *to = pages(), *more = pages();
    struct kernel before = {p, N, 1, NULL};
    struct device_copies *c;
    struct error err;

    (void)state;
    assert_int_equal(device_copies_create(&c, &err), 0);
    setenv("STANDIN_CUDA_FAIL", "cuMemHostRegister_v2:1", 1);
    device_copies_begin(c, to, ROOM);
    assert_int_equal(standin.launch(NULL, kernel_run, &before), 0);
    start(c, p, to, true);
    unsetenv("STANDIN_CUDA_FAIL");
    all_are(to, N, 1);
    assert_true(device_copies_refused(c, &err));
    assert_non_null(strstr(err.text, "cuMemHostRegister_v2"));
    assert_false(device_copies_refused(c, &err)); /* it was said */
    /* The next memory can be. */
    device_copies_begin(c, more, ROOM);
    start(c, p, more + N, true);
    assert_int_equal(device_copies_wait(c, &err), 0);
    all_are(more + N, N, 1);
    assert_false(device_copies_refused(c, &err));
    device_copies_destroy(c);
    free(to);
    free(more);
    device_free(p);
}

struct ahead {
    struct device_copies *copies;
    unsigned char *memory;
    size_t n;
};

static void *pin_run(void *arg)
{
    const struct ahead *a = arg;

    device_copies_pin(a->copies, a->memory, a->n);
    return NULL;
}

static void pin_elsewhere(struct device_copies *c, unsigned char *memory, size_t n)
{
    struct ahead ahead = {c, memory, n};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, pin_run, &ahead), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#define SEAM ((size_t)1 << 20)

/* In another thread, with more parts later: a copy across all parts is one that
 * continues. */
static void memory_is_pinned_ahead_and_grows(void **state)
{
    unsigned char *p = device_alloc(N), *to = pages();
    struct kernel before = {p, N, 1, NULL};
    struct device_copies *c;
    struct error err;

    (void)state;
    memset(to, 77, ROOM);
    assert_int_equal(device_copies_create(&c, &err), 0);
    assert_int_equal(device_copies_expect(c, RAYTRAIN_CUDA, 0, &err), 0);
    for (size_t n = SEAM / 8; n <= SEAM; n += SEAM / 8)
        pin_elsewhere(c, to, n);
    pin_elsewhere(c, to, ROOM);
    setenv("STANDIN_CUDA_FAIL", "cuMemHostRegister_v2:0", 1);
    device_copies_begin(c, to, ROOM);
    assert_int_equal(standin.launch(NULL, kernel_run, &before), 0);
    start(c, p, to, true);
    unsetenv("STANDIN_CUDA_FAIL");
    assert_false(device_copies_refused(c, &err));
    assert_int_equal(device_copies_settle(c, &err), 0);
    all_are(to, N, 77);
    assert_int_equal(device_copies_wait(c, &err), 0);
    all_are(to, N, 1);
    device_copies_destroy(c);
    free(to);
    device_free(p);
}

/* What is beyond comes through pieces. */
static void memory_of_which_only_the_beginning_can_be_pinned(void **state)
{
    unsigned char *p = device_alloc(N), *to = pages();
    struct kernel before = {p, N, 1, NULL};
    struct device_copies *c;
    struct error err;

    (void)state;
    memset(to, 77, ROOM);
    assert_int_equal(device_copies_create(&c, &err), 0);
    assert_int_equal(device_copies_expect(c, RAYTRAIN_CUDA, 0, &err), 0);
    pin_elsewhere(c, to, SEAM);
    setenv("STANDIN_CUDA_FAIL", "cuMemHostRegister_v2:0", 1);
    device_copies_begin(c, to, ROOM);
    assert_int_equal(standin.launch(NULL, kernel_run, &before), 0);
    start(c, p, to, true);
    unsetenv("STANDIN_CUDA_FAIL");
    assert_true(device_copies_refused(c, &err));
    all_are(to, SEAM, 77);
    all_are(to + SEAM, N - SEAM, 1);
    assert_int_equal(device_copies_wait(c, &err), 0);
    all_are(to, N, 1);
    device_copies_destroy(c);
    free(to);
    device_free(p);
}

static void memory_that_is_pinned_ahead_and_not_used_is_given_back(void **state)
{
    unsigned char *to = pages();
    struct device_copies *c;
    struct error err;

    (void)state;
    device_free(device_alloc(1)); /* the context remains current */
    assert_int_equal(device_copies_create(&c, &err), 0);
    device_copies_pin(c, to, SEAM); /* for no GPU */
    assert_int_equal(device_copies_expect(c, RAYTRAIN_CUDA, 0, &err), 0);
    pin_elsewhere(c, to, ROOM);
    device_copies_destroy(c);
    free(to);
    device_end();
    assert_int_equal(standin.count(), 0);
}

static const char *const failing[] = {
    "cuMemcpyDtoHAsync_v2:1", "cuEventRecord:1",  "cuEventRecord:2", "cuEventRecord:3",
    "cuStreamWaitEvent:1",    "cuStreamCreate:1", "cuEventCreate:1", "cuEventCreate:2"};

/* After it, the memory is not written to any more once all has been waited for. */
static void a_copy_that_cannot_be_started_leaves_none_under_way(void **state)
{
    unsigned char *p = device_alloc(N), *to = pages();
    struct error err;

    (void)state;
    for (size_t k = 0; k < sizeof failing / sizeof failing[0]; k++) {
        struct device_copies *c;

        assert_int_equal(device_copies_create(&c, &err), 0);
        device_copies_begin(c, to, ROOM);
        setenv("STANDIN_CUDA_FAIL", failing[k], 1);
        assert_int_equal(
            device_copies_start(c, RAYTRAIN_CUDA, 0, p, to, N, false, &err), -1);
        unsetenv("STANDIN_CUDA_FAIL");
        assert_non_null(strstr(err.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
        assert_int_equal(device_copies_wait(c, &err), 0);
        memset(to, 55, ROOM);
        assert_int_equal(standin.synchronize(NULL), 0);
        device_copies_destroy(c); /* runs what is left in its stream */
        all_are(to, ROOM, 55);
    }
    free(to);
    device_free(p);
}

/* ---- Lanes ---- */

#define PIECES 13

struct brought {
    const struct device_store *store;
    int lane, of;
};

static void *lane_run(void *arg)
{
    const struct brought *b = arg;
    struct device_lane lane;
    struct error err;

    if (device_lane_enter(b->store, b->lane, &lane, &err) < 0)
        return NULL;
    for (int i = b->lane; i < PIECES; i += b->of) {
        void *room = device_lane_room(&lane, &err);

        if (!room)
            return NULL;
        memset(room, i + 1, 1000);
        if (device_lane_send(&lane, (uint64_t)i * 1000, 1000, &err) < 0)
            return NULL;
    }
    device_lane_leave(&lane);
    return arg;
}

static void several_threads_bring_pieces(void **state)
{
    unsigned char *p = device_alloc(PIECES * 1000), got[PIECES * 1000];
    struct kernel sight = {p, sizeof got, 0, got};
    struct brought brought[DEVICE_LANES_MAX];
    pthread_t threads[DEVICE_LANES_MAX];
    struct device_store store;
    struct error err;
    void *ok;

    (void)state;
    assert_int_equal(device_store_begin(RAYTRAIN_CUDA, 0, p, sizeof got,
                                        DEVICE_LANES_MAX, &store, &err),
                     0);
    for (int i = 0; i < DEVICE_LANES_MAX; i++) {
        brought[i] = (struct brought){&store, i, DEVICE_LANES_MAX};
        assert_int_equal(pthread_create(&threads[i], NULL, lane_run, &brought[i]), 0);
    }
    for (int i = 0; i < DEVICE_LANES_MAX; i++) {
        assert_int_equal(pthread_join(threads[i], &ok), 0);
        assert_non_null(ok);
    }
    assert_int_equal(device_store_end(&store, &err), 0);
    assert_int_equal(standin.launch(NULL, kernel_run, &sight), 0);
    assert_int_equal(standin.synchronize(NULL), 0);
    for (int i = 0; i < PIECES; i++)
        all_are(got + (size_t)i * 1000, 1000, i + 1);
    device_free(p);
}

/* ---- Batches ---- */

#define BATCHES 7

/* Kernels look at each batch, and run as late as they may. The batches become
 * larger. */
static void each_batch_is_there_for_what_is_queued_in_its_turn(void **state)
{
    static unsigned char seen[BATCHES][BATCHES * 1000];
    struct kernel sights[BATCHES];
    struct device_feed *f;
    struct error err;

    (void)state;
    device_free(device_alloc(1)); /* the context remains current */
    assert_int_equal(device_feed_create(RAYTRAIN_CUDA, 0, &f, &err), 0);
    for (int i = 0; i < BATCHES; i++) {
        size_t n = (size_t)(i + 1) * 1000;
        void *room = device_feed_room(f, i % 2, n, &err);

        assert_non_null(room);
        memset(room, i + 1, n);
        assert_int_equal(device_feed_send(f, i % 2, n, &err), 0);
        assert_int_equal(device_feed_turn(f, i % 2, &err), 0);
        sights[i] = (struct kernel){device_feed_memory(f, i % 2), n, 0, seen[i]};
        assert_int_equal(standin.launch(NULL, kernel_run, &sights[i]), 0);
    }
    assert_int_equal(standin.synchronize(NULL), 0);
    for (int i = 0; i < BATCHES; i++)
        all_are(seen[i], (size_t)(i + 1) * 1000, i + 1);
    device_feed_destroy(f);
    device_end();
    assert_int_equal(standin.count(), 0);
}

static void a_device_that_is_not_there_gets_no_batches(void **state)
{
    struct device_feed *f;
    struct error err;

    (void)state;
    assert_int_equal(device_feed_create(RAYTRAIN_CUDA, 7, &f, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(standin.count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_change_is_copied_when_settled),
        cmocka_unit_test(what_stays_is_copied_later),
        cmocka_unit_test(memory_that_cannot_be_pinned_is_copied_to_at_once),
        cmocka_unit_test(memory_is_pinned_ahead_and_grows),
        cmocka_unit_test(memory_of_which_only_the_beginning_can_be_pinned),
        cmocka_unit_test(memory_that_is_pinned_ahead_and_not_used_is_given_back),
        cmocka_unit_test(a_copy_that_cannot_be_started_leaves_none_under_way),
        cmocka_unit_test(several_threads_bring_pieces),
        cmocka_unit_test(each_batch_is_there_for_what_is_queued_in_its_turn),
        cmocka_unit_test(a_device_that_is_not_there_gets_no_batches),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, standin_load, NULL);
}
