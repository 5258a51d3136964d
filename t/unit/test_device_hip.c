/*
 * test_device_hip.c - what is AMD's own in GPU memory, with the stand-in for
 * libamdhip64.so (t/device): the numbers of ROCm 5 and of 6, the current GPU, the last
 * error, libraries that are missing, old or fail. test_device.c has the rest, which is
 * the same for all vendors.
 */
#include "config.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "raytrain.h"
#include "device_standin.h"

#define N (DEVICE_PIECE_BYTES + 77)

static int (*get_device)(int *), (*set_device)(int), (*last_error)(void),
    (*count)(void);
static int (*mem_alloc)(uint64_t *, size_t), (*mem_free)(uint64_t);
static int (*host_alloc)(void **, size_t, unsigned int), (*host_free)(void *);

static void hip_load(void)
{
    void *object = standin_open("libamdhip64.so.6");

    standin_find(object, "hipGetDevice", &get_device);
    standin_find(object, "hipSetDevice", &set_device);
    standin_find(object, "standin_last_error", &last_error);
    standin_find(object, "standin_count", &count);
    standin_find(object, "cuMemAlloc_v2", &mem_alloc);
    standin_find(object, "cuMemFree_v2", &mem_free);
    standin_find(object, "hipHostMalloc", &host_alloc);
    standin_find(object, "hipHostFree", &host_free);
}

/* This GPU is current then. */
static void *device_alloc(int device, size_t n)
{
    uint64_t p;

    assert_int_equal(set_device(device), 0);
    assert_int_equal(mem_alloc(&p, n), 0);
    return (void *)(uintptr_t)p;
}

static void nothing_is_left(void)
{
    device_end();
    assert_int_equal(count(), 0);
}

/* Debian 13 has it, as a part of what MPI depends on. */
static bool machine_has_it(void)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                        "libamdhip64.so.5", "libamdhip64.so"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (dlopen(names[i], RTLD_NOW))
            return true;
    return false;
}

/* In its own process, which opens the library again: 0 if this is refused. */
static void library_case(const char *variable, const char *value, const char *says)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct error err = {0};
        char x = 0;

        setenv(variable, value, 1);
        if (device_check(RAYTRAIN_HIP, 0, &x, 1, &err) < 0 &&
            err.code == RAYTRAIN_ENOTSUP && strstr(err.text, says))
            _exit(0);
        if (!count && machine_has_it())
            _exit(0);
        fprintf(stderr, "# %s\n", err.text);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void without_a_library_a_sentence_says_what_to_do(void **state)
{
    (void)state;
    library_case("STANDIN_CUDA_DEVICES", "2", "install AMD's ROCm");
}

static void a_library_that_is_too_old_or_has_no_device_is_refused(void **state)
{
    (void)state;
    hip_load();
    library_case("STANDIN_HIP_VERSION", "40421401", "is of ROCm 4.4");
    library_case("STANDIN_CUDA_DEVICES", "0", "there is no HIP GPU");
}

/* Which memory is whose, as this version says it. */
static int memory_is_told_apart(void)
{
    void *p = device_alloc(1, 64), *pinned;
    struct error err;
    bool is_one;
    int wrong = 0;

    assert_int_equal(host_alloc(&pinned, 64, 0), 0);
    wrong += device_check(RAYTRAIN_HIP, 1, p, 64, &err) != 0;
    wrong += device_is_one(RAYTRAIN_HIP, 1, p, 64, &is_one, &err) != 0 || !is_one;
    wrong += device_is_one(RAYTRAIN_HIP, 1, p, 65, &is_one, &err) != 0 || is_one;
    wrong += device_check(RAYTRAIN_HIP, 1, pinned, 64, &err) == 0;
    wrong += !strstr(err.text, "is not memory of a HIP GPU");
    wrong += device_check(RAYTRAIN_HIP, 0, p, 64, &err) == 0;
    wrong += !strstr(err.text, "is memory of HIP GPU 1, and device_id says 0");
    wrong += device_check(RAYTRAIN_HIP, 2, p, 64, &err) == 0;
    wrong += !strstr(err.text, "there is no HIP GPU 2: this process may use 2");
    host_free(pinned);
    mem_free((uintptr_t)p);
    return wrong;
}

static void types_of_memory_have_the_numbers_of_the_version(void **state)
{
    const char *const versions[] = {"50731921", "60000000", "70100000"};

    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
            setenv("STANDIN_HIP_VERSION", versions[i], 1);
            _exit(memory_is_told_apart());
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void copies_there_and_back_have_the_same_bytes(void **state)
{
    void *p = device_alloc(1, N);
    unsigned char *sent = malloc(N), *got = calloc(N, 1);
    struct error err;

    (void)state;
    for (size_t i = 0; i < N; i++)
        sent[i] = (unsigned char)(i * 7 + (i >> 16));
    assert_int_equal(device_copy_in(RAYTRAIN_HIP, 1, p, sent, N, &err), 0);
    assert_int_equal(device_fetch(RAYTRAIN_HIP, 1, p, got, N, &err), 0);
    assert_memory_equal(sent, got, N);
    assert_int_equal(mem_free((uintptr_t)p), 0);
    free(sent);
    free(got);
    nothing_is_left();
}

/* Also if the pointer is wrong, which HIP counts as an error. */
static void the_callers_device_is_current_again_and_no_error_is_left(void **state)
{
    void *p = device_alloc(1, 8);
    struct error err;
    char host[8];
    int id;

    (void)state;
    assert_int_equal(set_device(0), 0);
    assert_int_equal(device_fetch(RAYTRAIN_HIP, 1, p, host, 8, &err), 0);
    assert_int_equal(get_device(&id), 0);
    assert_int_equal(id, 0);
    assert_int_equal(device_check(RAYTRAIN_HIP, 1, host, 8, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(get_device(&id), 0);
    assert_int_equal(id, 0);
    assert_int_equal(last_error(), 0);
    assert_int_equal(mem_free((uintptr_t)p), 0);
    assert_int_equal(device_fetch(RAYTRAIN_HIP, 1, p, host, 8, &err), -1);
    nothing_is_left();
}

static const char *const failing[] = {"hipGetDevice:1",
                                      "hipSetDevice:1",
                                      "hipPointerGetAttributes:1",
                                      "hipHostMalloc:2",
                                      "hipStreamCreateWithFlags:1",
                                      "hipEventCreateWithFlags:2",
                                      "hipStreamWaitEvent:1",
                                      "hipMemcpyAsync:1",
                                      "hipEventRecord:2",
                                      "hipEventSynchronize:1"};

static void a_failure_of_the_library_is_reported_and_leaves_nothing(void **state)
{
    void *p = device_alloc(0, N);
    unsigned char *got = malloc(N);

    (void)state;
    for (size_t k = 0; k < sizeof failing / sizeof failing[0]; k++) {
        struct error err = {0};

        setenv("STANDIN_CUDA_FAIL", failing[k], 1);
        assert_int_equal(device_fetch(RAYTRAIN_HIP, 0, p, got, N, &err), -1);
        unsetenv("STANDIN_CUDA_FAIL");
        assert_int_equal(err.code, RAYTRAIN_EFAILED);
        if (!strstr(err.text, "hipErrorIllegalAddress") ||
            strncmp(strstr(err.text, "hip"), failing[k], strcspn(failing[k], ":")) != 0)
            fail_msg("%s: %s", failing[k], err.text);
        assert_int_equal(device_fetch(RAYTRAIN_HIP, 0, p, got, N, &err), 0);
        device_end();
    }
    free(got);
    assert_int_equal(mem_free((uintptr_t)p), 0);
    nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_library_a_sentence_says_what_to_do),
        /* It loads the stand-in, for all that follow. */
        cmocka_unit_test(a_library_that_is_too_old_or_has_no_device_is_refused),
        cmocka_unit_test(types_of_memory_have_the_numbers_of_the_version),
        cmocka_unit_test(copies_there_and_back_have_the_same_bytes),
        cmocka_unit_test(the_callers_device_is_current_again_and_no_error_is_left),
        cmocka_unit_test(a_failure_of_the_library_is_reported_and_leaves_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
