/*
 * test_device.c - GPU memory, with the stand-in for NVIDIA's library (t/device): copies
 * of any length, in the right order with the caller's work; pointers that are not what they
 * are said to be; libraries that are missing, old or fail; nothing is left.
 */
#include "config.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/devices.h"
#include "device/stream.h"
#include "raytrain.h"
#include "device_standin.h"

/* Memory of a GPU, whose primary context is current then. */
static void *device_alloc(int device, size_t n)
{
    void *context;
    uint64_t p;

    assert_int_equal(standin.primary_retain(&context, device), 0);
    assert_int_equal(standin.set_current(context), 0);
    assert_int_equal(standin.mem_alloc(&p, n), 0);
    return (void *)(uintptr_t)p;
}

/* Everything is given back, what raytrain has as well. */
static void device_free(int device, void *p)
{
    void *context;

    assert_int_equal(standin.primary_retain(&context, device), 0);
    assert_int_equal(standin.set_current(context), 0);
    assert_int_equal(standin.mem_free((uintptr_t)p), 0);
    assert_int_equal(standin.primary_release(device), 0);
    assert_int_equal(standin.primary_release(device), 0);
    device_end();
    assert_int_equal(standin.count(), 0);
}

struct fill {
    void *p;
    size_t n;
    unsigned char first;
};

static unsigned char byte_of(unsigned char first, size_t i)
{
    return (unsigned char)(first + i * 7 + (i >> 20));
}

static void fill_run(void *arg)
{
    const struct fill *f = arg;
    unsigned char *to = standin.inside((uintptr_t)f->p);

    for (size_t i = 0; i < f->n; i++)
        to[i] = byte_of(f->first, i);
}

struct sight {
    const void *p;
    unsigned char *seen;
    size_t n;
};

static void sight_run(void *arg)
{
    const struct sight *s = arg;

    memcpy(s->seen, standin.inside((uintptr_t)s->p), s->n);
}

/* ---- Tests ---- */

static const size_t lengths[] = {1, 1000, DEVICE_PIECE_BYTES, DEVICE_PIECE_BYTES + 1,
                                 5 * DEVICE_PIECE_BYTES + 12345};

static void a_copy_to_the_host_has_what_was_queued_before(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        size_t n = lengths[k];
        unsigned char *got = malloc(n);
        void *p = device_alloc(0, n);
        struct fill fill = {p, n, (unsigned char)k};
        struct error err;

        assert_int_equal(standin.launch(NULL, fill_run, &fill), 0);
        assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, n, &err), 0);
        for (size_t i = 0; i < n; i++)
            if (got[i] != byte_of((unsigned char)k, i))
                fail_msg("byte %zu of %zu", i, n);
        device_free(0, p);
        free(got);
    }
}

static void store(void *p, size_t n, const unsigned char *from, size_t piece)
{
    struct device_store s;
    struct device_lane lane;
    struct error err;

    assert_int_equal(device_store_begin(RAYTRAIN_CUDA, 1, p, n, 1, &s, &err), 0);
    assert_int_equal(device_lane_enter(&s, 0, &lane, &err), 0);
    for (size_t at = 0, some; at < n; at += some) {
        void *room = device_lane_room(&lane, &err);

        some = n - at < piece ? n - at : piece;
        assert_non_null(room);
        memcpy(room, from + at, some);
        assert_int_equal(device_lane_send(&lane, at, some, &err), 0);
    }
    device_lane_leave(&lane);
    assert_int_equal(device_store_end(&s, &err), 0);
}

/* One kernel writes all of it before, another one looks at it afterwards. */
static void a_copy_to_a_device_is_between_what_is_queued_before_and_after(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        size_t n = lengths[k];
        unsigned char *sent = malloc(n), *got = malloc(n);
        void *p = device_alloc(1, n);
        struct fill fill = {p, n, 99};
        struct sight sight = {p, got, n};
        struct error err;

        for (size_t i = 0; i < n; i++)
            sent[i] = byte_of((unsigned char)k, i);
        assert_int_equal(standin.launch(NULL, fill_run, &fill), 0);
        if (k % 2 == 1)
            assert_int_equal(device_copy_in(RAYTRAIN_CUDA, 1, p, sent, n, &err), 0);
        else
            store(p, n, sent, k == 4 ? 3000001 : DEVICE_PIECE_BYTES);
        assert_int_equal(standin.launch(NULL, sight_run, &sight), 0);
        assert_int_equal(standin.synchronize(NULL), 0);
        assert_memory_equal(got, sent, n);
        device_free(1, p);
        free(sent);
        free(got);
    }
}

static void refused(int id, const void *p, uint64_t n, const char *says)
{
    struct error err = {0};
    char to[64];

    assert_int_equal(device_check(RAYTRAIN_CUDA, id, p, n, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    if (!strstr(err.text, says))
        fail_msg("%s", err.text);
    if (n <= sizeof to)
        assert_int_equal(device_fetch(RAYTRAIN_CUDA, id, p, to, n, &err), -1);
}

static void pointers_that_are_not_what_they_are_said_to_be_are_refused(void **state)
{
    void *p = device_alloc(0, 64), *next = device_alloc(0, 64);
    struct device_store s;
    struct error err;
    char host[64];
    bool is_one;

    (void)state;
    assert_int_equal(device_check(RAYTRAIN_CUDA, 0, p, 64, &err), 0);
    refused(0, host, 1, "is not memory of a CUDA GPU");
    refused(1, p, 64, "is memory of CUDA GPU 0, and device_id says 1");
    refused(2, p, 64, "there is no CUDA GPU 2: this process may use 2");
    refused(-1, p, 64, "there is no CUDA GPU -1");
    refused(0, (char *)next + 63, 10, "its last byte");
    assert_ptr_equal(next, (char *)p + 64);
    refused(0, p, 65, "the 65 bytes at");
    refused(0, p, 65, "are not in one allocation of CUDA GPU 0");
    assert_int_equal(device_is_one(RAYTRAIN_CUDA, 0, p, 64, &is_one, &err), 0);
    assert_true(is_one);
    assert_int_equal(device_is_one(RAYTRAIN_CUDA, 0, p, 65, &is_one, &err), 0);
    assert_false(is_one);
    assert_int_equal(device_store_begin(RAYTRAIN_CUDA, 0, host, 1, 1, &s, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(standin.mem_free((uintptr_t)p), 0);
    refused(0, p, 64, "or was freed");
    assert_int_equal(standin.mem_free((uintptr_t)next), 0);
    p = device_alloc(0, 64);
    standin.primary_release(0);
    standin.primary_release(0);
    device_free(0, p);
}

static void the_callers_device_is_current_again(void **state)
{
    void *p = device_alloc(0, 64), *q = device_alloc(1, 8), *before, *after;
    struct error err;
    char host[64];

    (void)state;
    assert_int_equal(standin.get_current(&before), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, host, 64, &err), 0);
    assert_int_equal(standin.get_current(&after), 0);
    assert_ptr_equal(before, after);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, host, host, 64, &err), -1);
    assert_int_equal(standin.get_current(&after), 0);
    assert_ptr_equal(before, after);
    store(q, 8, (const unsigned char *)"12345678", 8);
    device_end();
    assert_int_equal(standin.get_current(&after), 0);
    assert_ptr_equal(before, after);
    assert_int_equal(standin.mem_free((uintptr_t)q), 0);
    assert_int_equal(standin.primary_release(1), 0);
    device_free(0, p);
}

/* Copies wait for the stream that was set, and for no other. */
static void copies_follow_the_stream_of_the_caller(void **state)
{
    unsigned char got[16], *p = device_alloc(0, 16);
    struct fill early = {p, 16, 7}, late = {p, 16, 77};
    struct error err = {0};
    void *stream;

    (void)state;
    assert_int_equal(standin.stream_create(&stream, 1), 0);
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 0, stream, &err), 0);
    assert_int_equal(standin.launch(stream, fill_run, &early), 0);
    assert_int_equal(standin.launch(NULL, fill_run, &late), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(got[0], byte_of(7, 0));
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 0, NULL, &err), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(got[0], byte_of(77, 0));
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 2, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(standin.stream_destroy(stream), 0);
    device_free(0, p);
}

static void a_stream_that_cannot_be_used_is_refused(void **state)
{
    unsigned char got[16], *p = device_alloc(0, 16), *q;
    struct error err = {0};
    void *stream;

    (void)state;
    assert_int_equal(standin.stream_create(&stream, 1), 0);
    q = device_alloc(1, 16);
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 1, stream, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "is not one of CUDA GPU 1"));
    assert_int_equal(standin.mem_free((uintptr_t)q), 0);
    assert_int_equal(standin.primary_release(1), 0);
    q = device_alloc(0, 16);
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 0, stream, &err), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(standin.stream_destroy(stream), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EFAILED);
    assert_non_null(strstr(err.text, "or NULL, by raytrain_set_stream()"));
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 0, NULL, &err), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(standin.mem_free((uintptr_t)q), 0);
    assert_int_equal(standin.primary_release(0), 0);
    device_free(0, p);
}

/* ---- Graphs, resets, kernels that fail ---- */

static void refuses_captured(const void *p)
{
    struct error err = {0};
    char got[16];

    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "is being captured into a graph"));
}

/* flags 0: the default stream waits for it. */
static void *capture_begin(unsigned int flags)
{
    void *stream;

    assert_int_equal(standin.stream_create(&stream, flags), 0);
    assert_int_equal(standin.begin_capture(stream, 0), 0);
    return stream;
}

static void capture_end(void *stream)
{
    void *graph = NULL;

    assert_int_equal(standin.end_capture(stream, &graph), 0);
    assert_non_null(graph);
    assert_int_equal(standin.stream_destroy(stream), 0);
}

/* Opening the library and the GPU is a part of it. */
static void a_graph_is_captured_meanwhile(void **state)
{
    unsigned char got[16], *p = device_alloc(0, 16);
    struct fill fill = {p, 16, 7};
    struct error err = {0};
    void *stream = capture_begin(1);

    (void)state;
    assert_int_equal(standin.launch(NULL, fill_run, &fill), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(got[3], byte_of(7, 3));
    capture_end(stream);
    stream = capture_begin(1);
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 0, stream, &err), 0);
    refuses_captured(p);
    assert_int_equal(device_set_stream(RAYTRAIN_CUDA, 0, NULL, &err), 0);
    capture_end(stream);
    stream = capture_begin(0);
    refuses_captured(p);
    capture_end(stream);
    device_free(0, p);
}

static void a_reset_is_noticed_and_a_device_can_be_used_again(void **state)
{
    unsigned char got[16], *p = device_alloc(0, 16);
    struct error err = {0};
    struct device_stream *s;
    struct device_mark mark = {0};
    bool reached;

    (void)state;
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(device_stream_create(RAYTRAIN_CUDA, 0, &s, &err), 0);
    assert_int_equal(device_mark_init(s, &mark, &err), 0);
    assert_int_equal(device_mark_set(s, &mark, &err), 0);
    standin.reset(0);
    assert_int_equal(device_mark_test(s, &mark, &reached, &err), -1);
    assert_non_null(strstr(err.text, "CUDA GPU 0 was reset"));
    assert_int_equal(devices_check(&err), 0);
    p = device_alloc(0, 16);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(device_mark_test(s, &mark, &reached, &err), -1);
    device_stream_destroy(s);
    device_free(0, p);
}

static void a_kernel_that_fails_is_noticed(void **state)
{
    char got[16], *p = device_alloc(0, 16);
    struct error err = {0};

    (void)state;
    assert_int_equal(devices_check(&err), 0);
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), 0);
    assert_int_equal(standin.fault(NULL), 0);
    assert_int_equal(devices_check(&err), 0); /* it does not wait */
    assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, 16, &err), -1);
    assert_non_null(strstr(err.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_int_equal(devices_check(&err), -1);
    assert_non_null(strstr(err.text, "CUDA GPU 0 has failed: CUDA's "));
    assert_non_null(strstr(err.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    standin.reset(0);
    device_end();
    assert_int_equal(standin.count(), 0);
}

/* ---- Streams of the library's own ---- */

static void mark_reach(struct device_stream *s, struct device_mark *mark)
{
    struct error err;
    bool reached = false;

    while (!reached)
        assert_int_equal(device_mark_test(s, mark, &reached, &err), 0);
}

/* The caller fills the memory; it is copied out and, as other bytes, in; the caller sees
 * these. */
static void a_stream_is_ordered_with_that_of_the_caller(void **state)
{
    unsigned char seen[16] = {0}, *p = device_alloc(1, 16), *pinned;
    struct fill fill = {p, 16, 3};
    struct sight sight = {p, seen, 16};
    struct device_stream *out, *in;
    struct device_mark mark = {0};
    struct error err;
    bool reached;

    (void)state;
    assert_int_equal(device_stream_create(RAYTRAIN_CUDA, 1, &out, &err), 0);
    assert_int_equal(device_stream_create(RAYTRAIN_CUDA, 1, &in, &err), 0);
    assert_int_equal(device_mark_init(out, &mark, &err), 0);
    assert_int_equal(device_pinned_alloc(out, 16, (void **)&pinned, &err), 0);
    assert_int_equal(standin.launch(NULL, fill_run, &fill), 0);
    assert_int_equal(device_stream_after_caller(out, &err), 0);
    assert_int_equal(device_stream_copy_out(out, pinned, p, 16, &err), 0);
    assert_int_equal(device_mark_set(out, &mark, &err), 0);
    assert_int_equal(device_mark_test(out, &mark, &reached, &err), 0);
    assert_false(reached);
    mark_reach(out, &mark);
    assert_int_equal(pinned[5], byte_of(3, 5));
    memset(pinned, 99, 16);
    assert_int_equal(device_stream_copy_in(in, p, pinned, 16, &err), 0);
    assert_int_equal(device_stream_before_caller(in, &err), 0);
    assert_int_equal(standin.launch(NULL, sight_run, &sight), 0);
    assert_int_equal(standin.synchronize(NULL), 0);
    assert_memory_equal(seen, pinned, 16);
    device_pinned_free(out, pinned);
    device_mark_clear(out, &mark);
    device_stream_destroy(in);
    device_stream_destroy(out);
    device_stream_destroy(NULL);
    device_free(1, p);
}

static void memory_of_a_device_is_zero_and_host_memory_can_be_pinned(void **state)
{
    unsigned char *p = device_alloc(0, 1), *mine, host[64], other[64];
    struct device_stream *s;
    struct device_mark mark = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(device_stream_create(RAYTRAIN_CUDA, 0, &s, &err), 0);
    assert_int_equal(device_mark_init(s, &mark, &err), 0);
    assert_int_equal(device_memory_alloc(s, 64, (void **)&mine, &err), 0);
    assert_int_equal(device_check(RAYTRAIN_CUDA, 0, mine, 64, &err), 0);
    assert_int_equal(device_pin(s, host, 64, &err), 0);
    assert_int_equal(device_stream_copy_out(s, other, mine, 64, &err), -1);
    assert_int_equal(device_stream_copy_out(s, host, mine, 64, &err), 0);
    assert_int_equal(device_mark_set(s, &mark, &err), 0);
    mark_reach(s, &mark);
    for (int i = 0; i < 64; i++)
        assert_int_equal(host[i], 0);
    device_unpin(s, host);
    assert_int_equal(device_stream_copy_out(s, host, mine, 64, &err), -1);
    device_memory_free(s, mine);
    assert_int_equal(device_check(RAYTRAIN_CUDA, 0, mine, 64, &err), -1);
    device_mark_clear(s, &mark);
    device_stream_destroy(s);
    device_free(0, p);
}

static const char *const failing_streams[] = {
    "cuStreamCreate:1",  "cuEventCreate:1",      "cuMemAlloc_v2:1",
    "cuMemsetD8Async:1", "cuEventSynchronize:1", "cuCtxPushCurrent_v2:2",
};

static void a_failure_of_a_stream_is_reported_and_leaves_nothing(void **state)
{
    void *p = device_alloc(0, 1), *mine = NULL;

    (void)state;
    for (size_t k = 0; k < sizeof failing_streams / sizeof failing_streams[0]; k++) {
        struct device_stream *s = NULL;
        struct error err = {0};
        int rc;

        setenv("STANDIN_CUDA_FAIL", failing_streams[k], 1);
        rc = device_stream_create(RAYTRAIN_CUDA, 0, &s, &err);
        if (rc == 0)
            rc = device_memory_alloc(s, 64, &mine, &err);
        unsetenv("STANDIN_CUDA_FAIL");
        assert_int_equal(rc, -1);
        assert_int_equal(err.code, RAYTRAIN_EFAILED);
        assert_null(mine);
        device_stream_destroy(s);
        assert_int_equal(device_check(RAYTRAIN_CUDA, 0, p, 1, &err), 0);
    }
    device_free(0, p);
}

/* The function that fails, and at which call. */
static const char *const failing[] = {
    "cuMemHostAlloc:1",       "cuMemHostAlloc:2",       "cuStreamCreate:1",
    "cuEventCreate:1",        "cuEventCreate:3",        "cuEventRecord:1",
    "cuEventRecord:2",        "cuStreamWaitEvent:1",    "cuMemcpyDtoHAsync_v2:1",
    "cuMemcpyDtoHAsync_v2:2", "cuEventSynchronize:1",   "cuEventSynchronize:2",
    "cuCtxPushCurrent_v2:1",  "cuPointerGetAttribute:2"};

static void a_failure_of_the_library_is_reported_and_leaves_nothing(void **state)
{
    size_t n = 4 * DEVICE_PIECE_BYTES;
    unsigned char *got = malloc(n);
    void *p = device_alloc(0, n);
    struct fill fill = {p, n, 5};

    (void)state;
    assert_int_equal(standin.launch(NULL, fill_run, &fill), 0);
    for (size_t k = 0; k < sizeof failing / sizeof failing[0]; k++) {
        size_t name = strcspn(failing[k], ":");
        struct error err = {0};

        setenv("STANDIN_CUDA_FAIL", failing[k], 1);
        assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, n, &err), -1);
        unsetenv("STANDIN_CUDA_FAIL");
        assert_int_equal(err.code, RAYTRAIN_EFAILED);
        if (!strstr(err.text, "CUDA_ERROR_ILLEGAL_ADDRESS") ||
            strncmp(strstr(err.text, "cu"), failing[k], name) != 0)
            fail_msg("%s: %s", failing[k], err.text);
        /* It was one failure: the next copy is right. */
        memset(got, 0, n);
        assert_int_equal(device_fetch(RAYTRAIN_CUDA, 0, p, got, n, &err), 0);
        for (size_t i = 0; i < n; i += 997)
            assert_int_equal(got[i], byte_of(5, i));
        device_end();
    }
    free(got);
    device_free(0, p);
}

/* ---- Libraries ---- */

/* In a process of its own: no later test finds the library open. */
static void library_case(const char *variable, const char *value, const char *says)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct error err = {0};
        char x = 0;
        int rc;

        setenv(variable, value, 1);
        rc = device_check(RAYTRAIN_CUDA, 0, &x, 1, &err);
        if (rc < 0 && err.code == RAYTRAIN_ENOTSUP && strstr(err.text, says))
            _exit(0);
        if (!standin.count &&
            dlopen("libcuda.so.1", RTLD_NOW)) /* a machine with a GPU */
            _exit(0);
        fprintf(stderr, "# %s\n", err.text);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_library_that_is_too_old_or_has_no_device_is_refused(void **state)
{
    (void)state;
    standin_load(NULL);
    library_case("STANDIN_CUDA_VERSION", "10020", "is for CUDA 10.2");
    library_case("STANDIN_CUDA_DEVICES", "0", "there is no CUDA GPU");
}

static void without_a_library_a_sentence_says_what_to_do(void **state)
{
    (void)state;
    library_case("STANDIN_CUDA_DEVICES", "2", "libcuda.so.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_library_a_sentence_says_what_to_do),
        /* It loads the stand-in, for all that follow. */
        cmocka_unit_test(a_library_that_is_too_old_or_has_no_device_is_refused),
        cmocka_unit_test(a_copy_to_the_host_has_what_was_queued_before),
        cmocka_unit_test(a_copy_to_a_device_is_between_what_is_queued_before_and_after),
        cmocka_unit_test(pointers_that_are_not_what_they_are_said_to_be_are_refused),
        cmocka_unit_test(a_failure_of_the_library_is_reported_and_leaves_nothing),
        cmocka_unit_test(the_callers_device_is_current_again),
        cmocka_unit_test(copies_follow_the_stream_of_the_caller),
        cmocka_unit_test(a_stream_that_cannot_be_used_is_refused),
        cmocka_unit_test(a_graph_is_captured_meanwhile),
        cmocka_unit_test(a_reset_is_noticed_and_a_device_can_be_used_again),
        cmocka_unit_test(a_kernel_that_fails_is_noticed),
        cmocka_unit_test(a_stream_is_ordered_with_that_of_the_caller),
        cmocka_unit_test(memory_of_a_device_is_zero_and_host_memory_can_be_pinned),
        cmocka_unit_test(a_failure_of_a_stream_is_reported_and_leaves_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
