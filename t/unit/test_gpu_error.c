/* Errors of GPUs: which to blame, and which are the hardware's. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "site/nvml.h"
#include "train/gpu_error.h"

static void take(struct gpu_error *e, const char *node, const char *text, int hardware)
{
    json_t *event =
        json_pack("{s:s, s:s, s:b}", "node", node, "text", text, "hardware", hardware);

    assert_non_null(event);
    gpu_error_take(e, event);
    json_decref(event);
}

static void the_first_of_the_hardware_counts(void **state)
{
    struct gpu_error e = {0};
    json_t *none = json_object();

    (void)state;
    gpu_error_take(&e, none);
    json_decref(none);
    assert_string_equal(e.text, "");
    take(&e, "n1", "Xid 45", 0);
    take(&e, "n2", "Xid 13", 0);
    assert_string_equal(e.text, "Xid 45");
    take(&e, "n3", "Xid 79", 1);
    take(&e, "n4", "Xid 48", 1);
    take(&e, "n5", "Xid 31", 0);
    assert_string_equal(e.text, "Xid 79");
    assert_string_equal(e.node, "n3");
    assert_true(e.hardware);
}

static void only_a_failed_worker_is_explained(void **state)
{
    static const struct {
        enum attempt_cause cause;
        int never_started, hardware;
        const char *message;
        enum attempt_cause after;
    } rows[] = {
        {CAUSE_WORKER, 0, 1, "Xid: said", CAUSE_GPU},
        {CAUSE_HANG, 0, 1, "Xid: said", CAUSE_GPU},
        {CAUSE_WORKER, 0, 0, "Xid: said", CAUSE_WORKER},
        {CAUSE_WORKER, 1, 1, "said", CAUSE_WORKER},
        {CAUSE_OOM, 0, 1, "said", CAUSE_OOM},
        {CAUSE_NODE_LOST, 0, 1, "said", CAUSE_NODE_LOST},
        {CAUSE_TIME_LIMIT, 0, 1, "said", CAUSE_TIME_LIMIT},
        {CAUSE_SIGNAL, 0, 1, "said", CAUSE_SIGNAL},
    };

    char decided[GPU_ERROR_DECIDED_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_error e = {
            .text = "Xid", .node = "n1", .hardware = rows[i].hardware};
        struct failure f = {.cause = rows[i].cause,
                            .never_started = rows[i].never_started,
                            .final = true,
                            .message = "said"};

        gpu_error_blame(&e, NULL, &f, decided);
        assert_string_equal(decided, "");
        assert_string_equal(f.message, rows[i].message);
        assert_int_equal(f.cause, rows[i].after);
        assert_int_equal(f.final, rows[i].after != CAUSE_GPU);
        e.text[0] = '\0';
        strcpy(f.message, "said");
        gpu_error_blame(&e, NULL, &f, decided);
        assert_string_equal(f.message, "said");
    }
}

static void errors_of_programs_are_not_the_hardware(void **state)
{
    static const int hardware[] = {48, 64, 74, 79, 94, 95, 119, 120},
                     program[] = {13, 31, 43, 45, 63, 109, 0, 99999};

    (void)state;
    for (size_t i = 0; i < sizeof hardware / sizeof *hardware; i++)
        assert_true(nvml_xid_is_hardware(hardware[i]));
    for (size_t i = 0; i < sizeof program / sizeof *program; i++)
        assert_false(nvml_xid_is_hardware(program[i]));
    assert_string_equal(nvml_xid_text(79), "the GPU has fallen off the bus");
    assert_non_null(strstr(nvml_xid_text(99999), "catalogue"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_the_hardware_counts),
        cmocka_unit_test(only_a_failed_worker_is_explained),
        cmocka_unit_test(errors_of_programs_are_not_the_hardware),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
