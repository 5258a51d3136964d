/* A group between two attempts: who gets it, and when it ends. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "train/kept_group.h"

static int destroyed;

static int group_start(const struct launch_spec *spec, struct group **out,
                       struct error *err)
{
    static int group;

    (void)spec;
    (void)err;
    *out = (struct group *)&group;
    return 0;
}

static void group_destroy(struct group *g)
{
    (void)g;
    destroyed++;
}

static const struct launcher_ops launcher = {.start = group_start,
                                             .destroy = group_destroy};

static struct placed_node two[] = {{(char *)"n1", 2, 0}, {(char *)"n2", 1, 0}};
static const struct placement plan = {
    .workers = 3, .nodes = two, .n_nodes = 2, .cpus_per_worker = 1};

static void keep(struct kept_group *k)
{
    const struct launch_spec spec = {.plan = &plan, .log_dir = "/l", .keep = true};
    struct worker_group *group;

    destroyed = 0;
    assert_int_equal(worker_group_start(&launcher, &spec, NULL, &group, NULL), 0);
    kept_group_put(k, group, NULL, &plan, NULL);
    assert_int_equal(destroyed, 0);
}

static void the_same_plan_gets_the_group(void **state)
{
    struct placed_node copy[] = {{(char *)"n1", 2, 0}, {(char *)"n2", 1, 0}};
    struct placement same = plan;
    struct kept_group k = {0};
    struct worker_group *group;
    struct shown *shown;

    (void)state;
    assert_false(kept_group_take(&k, &plan, &group, &shown));
    keep(&k);
    same.nodes = copy;
    assert_true(kept_group_take(&k, &same, &group, &shown));
    assert_int_equal(destroyed, 0);
    assert_null(shown);
    assert_false(kept_group_take(&k, &same, &group, &shown));
    worker_group_destroy(group);
    assert_int_equal(destroyed, 1);
}

static void another_plan_ends_it(void **state)
{
    static struct placed_node nodes[][2] = {
        {{(char *)"n1", 1, 0}, {(char *)"n2", 2, 0}},
        {{(char *)"n1", 2, 0}, {(char *)"n3", 1, 0}},
        {{(char *)"n2", 2, 0}, {(char *)"n1", 1, 0}},
    };
    const struct placement others[] = {
        {.workers = 3, .nodes = nodes[0], .n_nodes = 2, .cpus_per_worker = 1},
        {.workers = 3, .nodes = nodes[1], .n_nodes = 2, .cpus_per_worker = 1},
        {.workers = 3, .nodes = nodes[2], .n_nodes = 2, .cpus_per_worker = 1},
        {.workers = 3, .nodes = two, .n_nodes = 2, .cpus_per_worker = 2},
        {.workers = 2, .nodes = two, .n_nodes = 1, .cpus_per_worker = 1},
        {.workers = 3,
         .nodes = two,
         .n_nodes = 2,
         .cpus_per_worker = 1,
         .gpus_per_worker = 1},
    };
    struct worker_group *group;
    struct shown *shown;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct kept_group k = {0};

        keep(&k);
        assert_false(kept_group_take(&k, &others[i], &group, &shown));
        assert_int_equal(destroyed, 1);
        assert_null(k.group);
    }
}

static void without_another_attempt_it_ends(void **state)
{
    struct kept_group k = {0};

    (void)state;
    kept_group_clear(&k);
    keep(&k);
    kept_group_clear(&k);
    kept_group_clear(&k);
    assert_int_equal(destroyed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_plan_gets_the_group),
        cmocka_unit_test(another_plan_ends_it),
        cmocka_unit_test(without_another_attempt_it_ends),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
