/* test_attempt_record.c - the record of an attempt on very many nodes: its size, and that
 * it can be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "run/attempts.h"
#include "t/unit/scratch.h"
#include "train/attempt_record.h"
#include "util/fs.h"

#define NODES 10000

static void plan_fill(struct placement *plan)
{
    plan->n_nodes = NODES;
    plan->workers = 4 * NODES;
    plan->nodes = calloc(NODES, sizeof *plan->nodes);
    assert_non_null(plan->nodes);
    for (int i = 0; i < NODES; i++) {
        plan->nodes[i].tasks = 4;
        assert_true(asprintf(&plan->nodes[i].name, "node%05d", i) > 0);
    }
}

/* One entry a node, of 80 bytes at most; written twice an attempt. */
static void a_record_grows_by_a_line_a_node(void **state)
{
    static const char DIR[] = "run/logs/attempt-0";
    struct placement plan = {0};
    struct error err = {0};
    json_t *record, *all;
    struct stat st;

    (void)state;
    plan_fill(&plan);
    record = attempt_create(0, "slurm", &plan, 7);
    assert_non_null(record);
    assert_int_equal(fs_mkdirs(DIR, 0700, NULL), 0);
    assert_int_equal(attempt_save(record, DIR, &err), 0);
    assert_int_equal(stat("run/logs/attempt-0/attempt.json", &st), 0);
    assert_true(st.st_size < 80 * NODES);
    assert_int_equal(attempts_load("run", false, &all, &err), 0);
    assert_int_equal(json_array_size(all), 1);
    assert_int_equal(json_array_size(json_object_get(json_array_get(all, 0), "nodes")),
                     NODES);
    json_decref(all);
    json_decref(record);
    placement_clear(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_record_grows_by_a_line_a_node),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
