/* Which of a step's GPUs a worker sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rank/gpu_share.h"

static const struct {
    const char *visible, *local_id, *step, *bound;
    int each, sharing;
    const char *expected;
} rows[] = {
    {"0,1,2,3", "0", "0,1,2,3", NULL, 1, 1, "0"},
    {"0,1,2,3", "3", "0,1,2,3", NULL, 1, 1, "3"},
    {"4,6,9,12", "1", "4,6,9,12", NULL, 2, 1, "9,12"},
    /* workers that share a GPU, which Slurm gives to the step */
    {"0,1,2,3", "0", "0,1,2,3", NULL, 1, 2, "0"},
    {"0,1,2,3", "1", "0,1,2,3", NULL, 1, 2, "0"},
    {"0,1,2,3", "2", "0,1,2,3", NULL, 1, 2, "1"},
    {"4,6", "3", "4,6", NULL, 1, 3, "6"},
    {"4", "2", "4", NULL, 1, 3, "4"},
    {"4", "3", "4", NULL, 1, 3, "4"},
    {"MIG-a,MIG-b", "3", "0,1", NULL, 1, 2, "MIG-b"},
    {"0,1", "1", "0,1", "gpu:single:1", 1, 2, "0,1"},
    /* a task with no other on its node, and tasks that Slurm has bound */
    {"MIG-GPU-1/2/0,MIG-GPU-1/3/0", "1", "0,1", NULL, 1, 1, "MIG-GPU-1/3/0"},
    {"2,3", "0", "2,3", NULL, 2, 1, "2,3"},
    {"2", "1", "1,2", NULL, 1, 1, "2"},
    {"0,1,2,3", "1", "0,1,2,3", "gpu:none", 1, 1, "0,1,2,3"},
    /* no GPUs asked for, no Slurm step, fewer GPUs than the tasks need */
    {"0,1", "1", "0,1", NULL, 0, 1, "0,1"},
    {"0,1", "1", NULL, NULL, 1, 1, "0,1"},
    {"0,1", NULL, "0,1", NULL, 1, 1, "0,1"},
    {"0,1", "x", "0,1", NULL, 1, 1, "0,1"},
    {"0,1", "2", "0,1", NULL, 1, 1, "0,1"},
    {"0,1,2", "1", "0,1,2", NULL, 2, 1, "0,1,2"},
    {"", "0", "", NULL, 1, 1, ""},
};

/* Slurm sets those of the vendors whose GPUs it has found. */
static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"};
#define N_VARIABLES (sizeof variables / sizeof *variables)

static void variable_set(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void each_worker_gets_its_own_gpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < N_VARIABLES; k++)
            variable_set(variables[k], rows[i].visible);
        variable_set("SLURM_LOCALID", rows[i].local_id);
        variable_set("SLURM_STEP_GPUS", rows[i].step);
        variable_set("SLURMD_TRES_BIND", rows[i].bound);
        assert_int_equal(gpu_share_take(rows[i].each, rows[i].sharing, NULL), 0);
        for (size_t k = 0; k < N_VARIABLES; k++)
            assert_string_equal(getenv(variables[k]), rows[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_worker_gets_its_own_gpus)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
