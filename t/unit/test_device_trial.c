/* test_device_trial.c - what --check tries with a GPU, with the stand-in for NVIDIA's library. */
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
#include "device/devices.h"
#include "probe/device_trial.h"
#include "raytrain.h"
#include "device_standin.h"

static void expect(json_t *devices, size_t i, const char *failed, bool missing)
{
    const json_t *device = json_array_get(devices, i), *text;

    assert_int_equal(json_integer_value(json_object_get(device, "id")), i);
    text = json_object_get(device, "failed");
    if (failed) {
        assert_non_null(json_string_value(text));
        assert_non_null(strstr(json_string_value(text), failed));
        assert_int_equal(json_is_true(json_object_get(device, "missing")), missing);
    } else {
        assert_true(json_is_null(text));
        assert_true(json_number_value(json_object_get(device, "bytes_s")) > 0);
        assert_int_equal(json_integer_value(json_object_get(device, "device")),
                         RAYTRAIN_CUDA);
    }
}

static void count_up(void *n)
{
    ++*(int *)n;
}

static void each_device_is_copied_to_and_from(void **state)
{
    int n = 0;
    json_t *devices = device_trial_copies(2, 60, count_up, &n);

    (void)state;
    assert_int_equal(n, 2);
    assert_int_equal(json_array_size(devices), 2);
    expect(devices, 0, NULL, false);
    expect(devices, 1, NULL, false);
    json_decref(devices);
    device_end();
    assert_int_equal(standin.count(), 0);
}

static void a_device_that_is_not_there_or_fails_is_said(void **state)
{
    int n = 0;
    json_t *devices = device_trial_copies(3, 60, count_up, &n);

    (void)state;
    assert_int_equal(n, 3);
    expect(devices, 1, NULL, false);
    expect(devices, 2, "there is no CUDA GPU 2", false);
    json_decref(devices);
    setenv("STANDIN_CUDA_FAIL", "cuMemcpyDtoHAsync_v2:0", 1);
    devices = device_trial_copies(1, 60, count_up, &n);
    unsetenv("STANDIN_CUDA_FAIL");
    expect(devices, 0, "cuMemcpyDtoHAsync_v2", false);
    json_decref(devices);
    device_end();
    assert_int_equal(standin.count(), 0);
}

static void what_many_workers_add_up_to_is_exact(void **state)
{
    float sum = 0;

    (void)state;
    for (int rank = 0; rank < 1000000; rank++) {
        sum += device_trial_number(rank);
        if ((int64_t)sum != device_trial_total(rank + 1))
            fail_msg("%d workers: %.0f, not %ld", rank + 1, sum,
                     (long)device_trial_total(rank + 1));
    }
}

/* The last one: its thread stays in the library. */
static void a_driver_that_does_not_answer_is_left(void **state)
{
    int n = 0;
    json_t *devices;

    (void)state;
    setenv("STANDIN_CUDA_SILENT", "1", 1);
    devices = device_trial_copies(1, 0.01, count_up, &n);
    assert_int_equal(n, 0);
    assert_string_equal(json_string_value(devices), "silent");
    json_decref(devices);
    assert_int_equal(devices_check(NULL), 0); /* nothing waits for it later */
    device_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_is_copied_to_and_from),
        cmocka_unit_test(a_device_that_is_not_there_or_fails_is_said),
        cmocka_unit_test(what_many_workers_add_up_to_is_exact),
        cmocka_unit_test(a_driver_that_does_not_answer_is_left),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, standin_load, NULL);
}
