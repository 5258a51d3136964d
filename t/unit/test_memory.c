/* test_memory.c - limits, from files that stand in for /proc and /sys/fs/cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/memory.h"
#include "util/fs.h"

#define MIB 1048576

static void put(const char *path, const char *text)
{
    struct error err;
    char *dir = strdup(path);

    *strrchr(dir, '/') = '\0';
    assert_int_equal(fs_mkdirs(dir, 0700, &err), 0);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), 0600, &err), 0);
    free(dir);
}

/* 1600 MiB available, and control groups that allow less, or nothing at all. */
static void the_lowest_limit_counts(void **state)
{
    static const struct {
        const char *groups;
        uint64_t mib;
    } T[] = {
        {"", 1600},
        {"0::/\n", 1600},
        {"0::/free\n", 1600},
        {"0::/slurm/job_3/step_0\n", 800},
        {"0::/slurm/job_3\n", 800},
        {"0::/slurm\n", 1600},
        {"0::/slurm/job_4/step_0\n", 160},
        {"0::/not/there\n", 1600},
        {"4:cpu:/x\n9:memory:/slurm/uid_0\n1:name=systemd:/y\n0::/\n", 320},
    };

    (void)state;
    put("proc/meminfo",
        "MemTotal: 9999999 kB\nMemFree: 1 kB\nMemAvailable: 1638400 kB\n");
    put("group/free/memory.max", "max\n");
    put("group/slurm/memory.max", "99999999999\n");
    put("group/slurm/job_3/memory.max", "838860800\n");
    put("group/slurm/job_3/step_0/memory.max", "max\n");
    put("group/slurm/job_4/memory.max", "838860800\n");
    put("group/slurm/job_4/step_0/memory.max", "167772160\n");
    put("group/memory/slurm/uid_0/memory.limit_in_bytes", "335544320\n");
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        put("proc/self/cgroup", T[i].groups);
        assert_int_equal(memory_available_in("proc", "group"),
                         T[i].mib * MIB / 16 * 15);
    }
}

/* What any process of a group uses is not available; its cache of files is. */
static void used_memory_is_subtracted(void **state)
{
    static const struct {
        const char *groups;
        uint64_t mib;
    } T[] = {
        {"0::/busy/step\n", 200},  /* 800 allowed, 700 used, 100 of them files */
        {"0::/busy\n", 500},       /* 1000 allowed, 500 used */
        {"0::/over\n", 0},         /* more used than allowed: the limit was lowered */
        {"0::/cached\n", 800},     /* nothing but files */
        {"9:memory:/busy\n", 300}, /* version 1: 400 allowed, 200 used, 100 files */
    };

    (void)state;
    put("used/meminfo", "MemAvailable: 1638400 kB\n");
    put("groups/busy/memory.max", "1048576000\n");
    put("groups/busy/memory.current", "524288000\n");
    put("groups/busy/step/memory.max", "838860800\n");
    put("groups/busy/step/memory.current", "734003200\n");
    put("groups/busy/step/memory.stat",
        "anon 629145600\nfile 104857600\nkernel 1\ninactive_file 73400320\n"
        "active_file 31457280\nunevictable 9\n");
    put("groups/over/memory.max", "838860800\n");
    put("groups/over/memory.current", "943718400\n");
    put("groups/cached/memory.max", "838860800\n");
    put("groups/cached/memory.current", "524288000\n");
    put("groups/cached/memory.stat", "active_file 1\ninactive_file 629145600\n");
    put("groups/memory/busy/memory.limit_in_bytes", "419430400\n");
    put("groups/memory/busy/memory.usage_in_bytes", "209715200\n");
    put("groups/memory/busy/memory.stat",
        "active_file 99999999\ninactive_file 99999999\n"
        "total_active_file 52428800\ntotal_inactive_file 52428800\n");
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        put("used/self/cgroup", T[i].groups);
        assert_int_equal(memory_available_in("used", "groups"),
                         T[i].mib * MIB / 16 * 15);
    }
}

/* Without /proc: the memory of the machine, and never "no limit". */
static void available_memory_is_known_on_any_machine(void **state)
{
    (void)state;
    assert_in_range(memory_available_in("nowhere", "nowhere"), MIB, UINT64_MAX / 2);
    assert_in_range(memory_available(), MIB, UINT64_MAX / 2);
}

static int scratch_enter(void **state)
{
    char template[] = "/tmp/raytrain-test-XXXXXX";
    char *dir = mkdtemp(template);

    *state = dir && chdir(dir) == 0 ? strdup(dir) : NULL;
    return *state ? 0 : -1;
}

static int scratch_leave(void **state)
{
    struct error err;
    int rc = chdir("/") < 0 ? -1 : fs_remove_tree(*state, &err);

    free(*state);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_limit_counts),
        cmocka_unit_test(used_memory_is_subtracted),
        cmocka_unit_test(available_memory_is_known_on_any_machine),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
