#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/oom.h"
#include "t/unit/scratch.h"
#include "util/fs.h"

static void put(const char *path, const char *text)
{
    char *slash, dir[256];
    FILE *file;

    snprintf(dir, sizeof dir, "%s", path);
    slash = strrchr(dir, '/');
    *slash = '\0';
    assert_int_equal(fs_mkdirs(dir, 0700, NULL), 0);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define V2 "r/sys/fs/cgroup/"
#define V1 "r/sys/fs/cgroup/memory/"

/* The files of a machine, and the one that is used. */
static const struct {
    const char *groups;
    const char *files[3];
    const char *counts;
} machines[] = {
    {"0::/a/b\n", {V2 "a/b/memory.events", "r/proc/vmstat"}, V2 "a/b/memory.events"},
    {"0::/a/b\n", {V2 "memory.events", "r/proc/vmstat"}, V2 "memory.events"},
    {"0::/a\n", {V2 "unified/a/memory.events"}, V2 "unified/a/memory.events"},
    {"5:cpu:/\n4:memory:/a\n0::/\n",
     {V1 "a/memory.oom_control", "r/proc/vmstat"},
     V1 "a/memory.oom_control"},
    {"4:memory:/inside\n", {V1 "memory.oom_control"}, V1 "memory.oom_control"},
    {"0::/\n", {"r/proc/vmstat"}, "r/proc/vmstat"},
    {"rubbish\n::\n\n4:memory\n", {"r/proc/vmstat"}, "r/proc/vmstat"},
};

static void every_kind_of_cgroup_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct oom_count c;

        put("r/proc/self/cgroup", machines[i].groups);
        for (size_t f = 0; f < 3 && machines[i].files[f]; f++)
            put(machines[i].files[f], "low 0\noom 4\noom_kill 4\n");
        oom_count_init(&c, "r");
        assert_string_equal(c.file, machines[i].counts);
        assert_false(oom_count_grown(&c));
        put(machines[i].counts, "low 0\noom 5\noom_kill 5\n");
        assert_true(oom_count_grown(&c));
        assert_int_equal(fs_remove_tree("r", NULL), 0);
    }
}

static void missing_counters_report_nothing(void **state)
{
    struct oom_count c;

    (void)state;
    oom_count_init(&c, "r");
    assert_string_equal(c.file, "");
    assert_false(oom_count_grown(&c));
    put("r/proc/self/cgroup", "0::/\n");
    put("r/proc/vmstat", "oom_killer 7\nno such line\n");
    oom_count_init(&c, "r");
    assert_string_equal(c.file, "");
}

static void a_file_that_disappears_is_no_evidence(void **state)
{
    struct oom_count c;

    (void)state;
    put("r/proc/vmstat", "oom_kill 3\n");
    oom_count_init(&c, "r");
    assert_int_equal(c.kills, 3);
    assert_int_equal(fs_remove_tree("r", NULL), 0);
    assert_false(oom_count_grown(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(every_kind_of_cgroup_is_read),
        SCRATCH(missing_counters_report_nothing),
        SCRATCH(a_file_that_disappears_is_no_evidence),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
