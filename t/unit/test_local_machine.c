#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "local/child_env.h"
#include "local/gpus.h"
#include "local/machine.h"
#include "util/argv.h"
#include "util/fs.h"

static char root[] = "/tmp/raytrain-test-XXXXXX";

static int root_make(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state)
{
    (void)state;
    return fs_remove_tree(root, NULL);
}

static void file_write(const char *name, const char *text)
{
    char path[512], *slash;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", root, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(fs_mkdirs(path, 0700, NULL), 0);
    *slash = '/';
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *variable, *value; /* the only one that is set; NULL: none is */

static char *fake_getenv(const char *name)
{
    return variable && strcmp(name, variable) == 0 ? (char *)value : NULL;
}

static void visible_gpus_are_counted(void **state)
{
    static const struct {
        const char *visible;
        const char *expected; /* joined by spaces */
    } table[] = {
        {"0", "0"},        {"0,1,3", "0 1 3"},
        {" 2 , 1", "2 1"}, {"", ""},
        {"-1", ""},        {"NoDevFiles", ""},
        {"0,-1,2", "0"},   {"GPU-8932f937,MIG-GPU-1/2/3", "GPU-8932f937 MIG-GPU-1/2/3"},
        {"0,junk,1", "0"}, {",0", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gpus gpus;
        char *line;

        variable = "CUDA_VISIBLE_DEVICES";
        value = table[i].visible;
        assert_int_equal(gpus_find("/no/such/root", fake_getenv, &gpus, NULL), 0);
        assert_int_equal(argv_join(gpus.names, &line, NULL), 0);
        assert_string_equal(line, table[i].expected);
        assert_string_equal(gpus.variable, "CUDA_VISIBLE_DEVICES");
        assert_int_equal(gpus.n, argv_count(gpus.names));
        gpus_clear(&gpus);
        free(line);
    }
}

/* Those of `root`, or of what the variable says. */
static void expect_gpus(const char *of, const char *name, const char *joined)
{
    struct gpus gpus;
    char *line;

    assert_int_equal(gpus_find(of, fake_getenv, &gpus, NULL), 0);
    assert_int_equal(argv_join(gpus.names, &line, NULL), 0);
    assert_string_equal(line, joined);
    assert_string_equal(gpus.variable, name);
    gpus_clear(&gpus);
    free(line);
}

static void gpu_devices_are_counted(void **state)
{
    (void)state;
    variable = NULL;
    expect_gpus("/no/such/root", "CUDA_VISIBLE_DEVICES", "");
    /* Intel's: a display of another vendor is none */
    file_write("dev/dri/renderD128", "");
    file_write("dev/dri/renderD129", "");
    file_write("dev/dri/card0", "");
    file_write("sys/class/drm/renderD128/device/vendor", "0x1002\n");
    file_write("sys/class/drm/renderD129/device/vendor", "0x8086\n");
    expect_gpus(root, "ZE_AFFINITY_MASK", "0");
    /* AMD's: node 0 is the CPU */
    file_write("sys/class/kfd/kfd/topology/nodes/0/properties", "simd_count 0\n");
    file_write("sys/class/kfd/kfd/topology/nodes/1/properties",
               "cpu_cores_count 0\nsimd_count 440\nlocation_id 16640\ndomain 0\n");
    file_write("sys/class/kfd/kfd/topology/nodes/2/properties",
               "simd_count 440\nlocation_id 49408\ndomain 1\n");
    expect_gpus(root, "ROCR_VISIBLE_DEVICES", "0 1");
    /* NVIDIA's */
    file_write("dev/nvidia0", "");
    file_write("dev/nvidia10", "");
    file_write("dev/nvidiactl", "");
    file_write("dev/nvidia-uvm", "");
    file_write("dev/nvidia", "");
    file_write("dev/nvidia1x", "");
    expect_gpus(root, "CUDA_VISIBLE_DEVICES", "0 1");
    /* with instances of one: all have names */
    file_write("proc/driver/nvidia/gpus/0000:41:00.0/information",
               "Model: \t Fake\nGPU UUID: \t GPU-aaaaaaaa-1\nDevice Minor: \t 0\n");
    file_write("proc/driver/nvidia/gpus/0000:c1:00.0/information",
               "GPU UUID: \t GPU-bbbbbbbb-2\nDevice Minor: \t 10\n");
    expect_gpus(root, "CUDA_VISIBLE_DEVICES", "0 1");
    file_write("proc/driver/nvidia/capabilities/gpu10/mig/gi2/ci0/access", "");
    file_write("proc/driver/nvidia/capabilities/gpu10/mig/gi2/access", "");
    file_write("proc/driver/nvidia/capabilities/gpu10/mig/gi11/ci0/access", "");
    expect_gpus(root, "CUDA_VISIBLE_DEVICES",
                "GPU-aaaaaaaa-1 MIG-GPU-bbbbbbbb-2/2/0 MIG-GPU-bbbbbbbb-2/11/0");
}

static void the_user_s_choice_counts_for_each_vendor(void **state)
{
    static const char *const table[][3] = {
        {"HIP_VISIBLE_DEVICES", "1,0", "1 0"},
        {"ROCR_VISIBLE_DEVICES", "0,GPU-8a7b", "0 GPU-8a7b"},
        {"ROCR_VISIBLE_DEVICES", "", ""},
        {"ZE_AFFINITY_MASK", "0.0,0.1,1", "0.0 0.1 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        variable = table[i][0];
        value = table[i][1];
        expect_gpus(root, table[i][0], table[i][2]);
    }
    variable = NULL;
}

static void expect_near(const char *name, const char *names, const char *cpus)
{
    struct gpus gpus;
    cpu_set_t near, expected;

    variable = name;
    value = names;
    assert_int_equal(gpus_find(root, fake_getenv, &gpus, NULL), 0);
    CPU_ZERO(&expected);
    for (const char *c = cpus; c && *c; c++)
        CPU_SET(*c - '0', &expected);
    assert_int_equal(gpus_near_cpus(root, &gpus, 0, gpus.n, &near), cpus != NULL);
    if (cpus)
        assert_true(CPU_EQUAL(&near, &expected));
    gpus_clear(&gpus);
    variable = NULL;
}

/* /sys as the test before has left it, and this process on a CPU of its own. */
static void cpus_near_a_gpu_are_found(void **state)
{
    cpu_set_t before, one;
    char online[16];
    int cpu = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    snprintf(online, sizeof online, "%d\n", cpu);
    file_write("sys/devices/system/cpu/online", online);
    file_write("sys/devices/system/node/online", "0-1\n");
    file_write("sys/bus/pci/devices/0000:41:00.0/local_cpulist", "0-2,5\n");
    file_write("sys/bus/pci/devices/0000:c1:00.0/local_cpulist", "3-4\n");
    file_write("sys/bus/pci/devices/0001:c1:00.0/local_cpulist", "6,7\n");
    file_write("sys/class/drm/renderD129/device/local_cpulist", "1\n");
    expect_near("CUDA_VISIBLE_DEVICES", "0", "0125");
    expect_near("CUDA_VISIBLE_DEVICES", "0,1", "012345");
    expect_near("CUDA_VISIBLE_DEVICES", "GPU-bbbbbbbb", "34");
    expect_near("CUDA_VISIBLE_DEVICES", "MIG-GPU-aaaaaaaa-1/3/0", "0125");
    expect_near("CUDA_VISIBLE_DEVICES", "MIG-ffff", NULL);
    expect_near("CUDA_VISIBLE_DEVICES", "7", NULL);
    expect_near("ROCR_VISIBLE_DEVICES", "0", "0125");
    expect_near("HIP_VISIBLE_DEVICES", "1", "67");
    expect_near("ZE_AFFINITY_MASK", "0.1", "1");
    /* one NUMA node; a process that was bound */
    file_write("sys/devices/system/node/online", "0\n");
    expect_near("CUDA_VISIBLE_DEVICES", "0", NULL);
    file_write("sys/devices/system/node/online", "0-1\n");
    file_write("sys/devices/system/cpu/online", "0-63\n");
    expect_near("CUDA_VISIBLE_DEVICES", "0", NULL);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void memory_limits_are_read(void **state)
{
    (void)state;
    assert_int_equal(machine_memory("/no/such/root"), 0);
    file_write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 5 kB\n");
    assert_int_equal(machine_memory(root), 1000 * 1024);
    file_write("proc/self/cgroup", "0::/user/job\n");
    assert_int_equal(machine_memory(root), 1000 * 1024);
    file_write("sys/fs/cgroup/user/job/memory.max", "max\n");
    file_write("sys/fs/cgroup/user/memory.max", "4096\n");
    assert_int_equal(machine_memory(root), 4096);
    file_write("sys/fs/cgroup/user/job/memory.max", "2048\n");
    assert_int_equal(machine_memory(root), 2048);
    file_write("sys/fs/cgroup/user/job/memory.max", "99999999999\n");
    file_write("sys/fs/cgroup/user/memory.max", "max\n");
    assert_int_equal(machine_memory(root), 1000 * 1024);
    file_write("proc/self/cgroup", "12:cpu,cpuacct:/a\n4:memory:/a/b\nnonsense\n\n");
    file_write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
               "9223372036854771712\n");
    file_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
    assert_int_equal(machine_memory(root), 8192);
}

static void this_machine_has_resources(void **state)
{
    struct resources have;
    struct error err;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "4,5", 1);
    assert_int_equal(machine_resources(&have, &err), 0);
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_string_equal(have.what, "this machine");
    assert_int_equal(have.n_nodes, 1);
    assert_true(have.cpu_share > 1);
    assert_true(have.nodes[0].cpus >= 1);
    assert_true(have.nodes[0].cpus <= sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(have.nodes[0].gpus, 2);
    assert_null(have.nodes[0].gpu_type);
    assert_true(have.nodes[0].memory > 1024 * 1024);
    assert_true(strlen(have.nodes[0].name) > 0);
    resources_clear(&have);
}

/* The environment of a worker. */
static void a_worker_gets_its_gpus_and_threads(void **state)
{
    char *base[] = {(char *)"HOME=/home/me",
                    (char *)"PMIX_RANK=7",
                    (char *)"PMIX_MCA_gds=ds21",
                    (char *)"PMI_FD=5",
                    (char *)"CUDA_VISIBLE_DEVICES=0,1,2",
                    (char *)"PMIXED=yes",
                    NULL};
    char *names[] = {(char *)"0", (char *)"1", (char *)"2", NULL};
    struct gpus gpus = {"CUDA_VISIBLE_DEVICES", names, 3};
    struct placement plan = {.workers = 3, .cpus_per_worker = 4, .gpus_per_worker = 1};
    struct error err;
    char **env, *line;

    (void)state;
    assert_int_equal(local_env_make(base, &plan, 2, &gpus, &env, &err), 0);
    assert_int_equal(argv_join(env, &line, NULL), 0);
    assert_string_equal(line, "HOME=/home/me PMIX_MCA_gds=ds21 PMIXED=yes "
                              "OMP_NUM_THREADS=4 CUDA_VISIBLE_DEVICES=2");
    argv_free(env);
    free(line);

    plan.gpus_per_worker = 0;
    base[1] = (char *)"OMP_NUM_THREADS=2";
    assert_int_equal(local_env_make(base, &plan, 2, &gpus, &env, &err), 0);
    assert_int_equal(argv_join(env, &line, NULL), 0);
    assert_string_equal(line, "HOME=/home/me OMP_NUM_THREADS=2 PMIX_MCA_gds=ds21 "
                              "CUDA_VISIBLE_DEVICES=0,1,2 PMIXED=yes");
    argv_free(env);
    free(line);

    /* workers that share GPUs */
    plan.gpus_per_worker = 1;
    plan.workers_per_gpu = 2;
    for (int rank = 0; rank < 6; rank++) {
        char mine[64];

        assert_int_equal(local_env_make(base, &plan, rank, &gpus, &env, &err), 0);
        snprintf(mine, sizeof mine, "CUDA_VISIBLE_DEVICES=%d", rank / 2);
        assert_true(argv_has(env, mine));
        argv_free(env);
    }
    assert_int_equal(local_env_make(base, &plan, 6, &gpus, &env, &err), -1);
    plan.workers_per_gpu = 1;

    plan.gpus_per_worker = 2;
    assert_int_equal(local_env_make(base, &plan, 1, &gpus, &env, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EFIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_gpus_are_counted),
        cmocka_unit_test(gpu_devices_are_counted),
        cmocka_unit_test(the_user_s_choice_counts_for_each_vendor),
        cmocka_unit_test(cpus_near_a_gpu_are_found),
        cmocka_unit_test(memory_limits_are_read),
        cmocka_unit_test(this_machine_has_resources),
        cmocka_unit_test(a_worker_gets_its_gpus_and_threads),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, root_make, root_remove);
}
