#include <fcntl.h>
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
        char **names, *line;
        size_t n;

        assert_int_equal(
            machine_gpus(table[i].visible, "/no/such/dir", &names, &n, NULL), 0);
        assert_int_equal(argv_join(names, &line, NULL), 0);
        assert_string_equal(line, table[i].expected);
        assert_int_equal(n, argv_count(names));
        argv_free(names);
        free(line);
    }
}

static void gpu_devices_are_counted(void **state)
{
    char dev[512], **names;
    size_t n;

    (void)state;
    file_write("dev/nvidia0", "");
    file_write("dev/nvidia10", "");
    file_write("dev/nvidiactl", "");
    file_write("dev/nvidia-uvm", "");
    file_write("dev/nvidia", "");
    file_write("dev/nvidia1x", "");
    snprintf(dev, sizeof dev, "%s/dev", root);
    assert_int_equal(machine_gpus(NULL, dev, &names, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "0");
    assert_string_equal(names[1], "1");
    argv_free(names);
    assert_int_equal(machine_gpus(NULL, "/no/such/dir", &names, &n, NULL), 0);
    assert_int_equal(n, 0);
    argv_free(names);
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
    char *gpus[] = {(char *)"0", (char *)"1", (char *)"2", NULL};
    struct placement plan = {.workers = 3, .cpus_per_worker = 4, .gpus_per_worker = 1};
    struct error err;
    char **env, *line;

    (void)state;
    assert_int_equal(local_env_make(base, &plan, 2, gpus, 3, &env, &err), 0);
    assert_int_equal(argv_join(env, &line, NULL), 0);
    assert_string_equal(line, "HOME=/home/me PMIX_MCA_gds=ds21 PMIXED=yes "
                              "OMP_NUM_THREADS=4 CUDA_VISIBLE_DEVICES=2");
    argv_free(env);
    free(line);

    plan.gpus_per_worker = 0;
    base[1] = (char *)"OMP_NUM_THREADS=2";
    assert_int_equal(local_env_make(base, &plan, 2, NULL, 0, &env, &err), 0);
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

        assert_int_equal(local_env_make(base, &plan, rank, gpus, 3, &env, &err), 0);
        snprintf(mine, sizeof mine, "CUDA_VISIBLE_DEVICES=%d", rank / 2);
        assert_true(argv_has(env, mine));
        argv_free(env);
    }
    assert_int_equal(local_env_make(base, &plan, 6, gpus, 3, &env, &err), -1);
    plan.workers_per_gpu = 1;

    plan.gpus_per_worker = 2;
    assert_int_equal(local_env_make(base, &plan, 1, gpus, 3, &env, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EFIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_gpus_are_counted),
        cmocka_unit_test(gpu_devices_are_counted),
        cmocka_unit_test(memory_limits_are_read),
        cmocka_unit_test(this_machine_has_resources),
        cmocka_unit_test(a_worker_gets_its_gpus_and_threads),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, root_make, root_remove);
}
