#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/attempt_plan.h"

#define NODES 4
#define MANY  10000

static int nodes_fill(int n, struct resources *out)
{
    *out = (struct resources){.what = "the test", .n_nodes = (size_t)n};
    out->nodes = calloc((size_t)n, sizeof *out->nodes);
    assert_non_null(out->nodes);
    for (int i = 0; i < n; i++) {
        out->nodes[i].cpus = 2;
        assert_true(asprintf(&out->nodes[i].name, "n%d", i + 1) > 0);
    }
    return 0;
}

/* An allocation of n1 .. n4 with two CPUs each. */
static int four_nodes(const struct scaling_config *scaling, struct resources *out,
                      struct error *err)
{
    (void)scaling;
    (void)err;
    return nodes_fill(NODES, out);
}

static int many_nodes(const struct scaling_config *scaling, struct resources *out,
                      struct error *err)
{
    (void)scaling;
    (void)err;
    return nodes_fill(MANY, out);
}

static const struct launcher_ops launcher = {.resources = four_nodes};
static struct attempt_planner *planner;

static void begin(const struct scaling_config *scaling)
{
    assert_int_equal(attempt_planner_create(&launcher, scaling, &planner, NULL), 0);
}

/* Expect this plan; NULL: a refusal with this message. */
static void expect_plan(const char *expected, const char *says)
{
    struct placement plan = {0};
    struct error err;
    char text[128] = "";
    size_t used = 0;

    if (attempt_planner_plan(planner, &plan, &err) < 0) {
        assert_int_equal(err.code, RAYTRAIN_EFIT);
        assert_null(expected);
        assert_non_null(strstr(err.text, says));
        return;
    }
    for (size_t i = 0; i < plan.n_nodes; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s*%d",
                                 i ? " " : "", plan.nodes[i].name, plan.nodes[i].tasks);
    placement_clear(&plan);
    assert_non_null(expected);
    assert_string_equal(text, expected);
}

static void a_spare_node_replaces_a_lost_one(void **state)
{
    const struct scaling_config want = {.num_workers = 4,
                                        .max_workers = 4,
                                        .cpus_per_worker = 1,
                                        .spare_nodes = 1,
                                        .placement_strategy = PLACEMENT_SPREAD};
    char *lost, **present;

    (void)state;
    begin(&want);
    expect_plan("n1*2 n2*1 n3*1", NULL);
    assert_false(attempt_planner_had_losses(planner));
    attempt_planner_lose(planner, "n2");
    attempt_planner_lose(planner, "unheard-of");
    present = attempt_planner_present(planner);
    assert_non_null(present);
    assert_string_equal(present[0], "n1");
    assert_string_equal(present[1], "n3");
    assert_string_equal(present[2], "n4");
    assert_null(present[3]);
    free(present);
    expect_plan("n1*2 n3*1 n4*1", NULL);
    attempt_planner_lose(planner, "n1");
    expect_plan("n3*2 n4*2", NULL);
    attempt_planner_lose(planner, "n3");
    expect_plan(NULL, "without n[1-3], which are lost: 4 workers do not fit");
    lost = attempt_planner_lost_names(planner);
    assert_string_equal(lost, "n[1-3]");
    free(lost);
    attempt_planner_destroy(planner);
}

static void too_many_spare_nodes_are_refused(void **state)
{
    const struct scaling_config want = {
        .num_workers = 5, .max_workers = 5, .cpus_per_worker = 1, .spare_nodes = 2};

    (void)state;
    begin(&want);
    expect_plan(NULL, "with 2 spare nodes: 5 workers do not fit");
    attempt_planner_destroy(planner);
}

static void an_elastic_plan_takes_what_fits(void **state)
{
    const struct scaling_config want = {
        .num_workers = 4, .max_workers = 8, .cpus_per_worker = 1};
    char *names[NODES];

    (void)state;
    begin(&want);
    expect_plan("n1*2 n2*2 n3*2 n4*2", NULL);
    attempt_planner_lose(planner, "n2");
    attempt_planner_lose(planner, "n2");
    expect_plan("n1*2 n3*2 n4*2", NULL);
    assert_false(attempt_planner_can_grow(planner, 6));
    assert_int_equal(attempt_planner_awaited(planner, names, NODES), 1);
    assert_string_equal(names[0], "n2");
    assert_true(attempt_planner_regain(planner, "n2"));
    assert_false(attempt_planner_regain(planner, "n2"));
    assert_true(attempt_planner_can_grow(planner, 6));
    assert_false(attempt_planner_can_grow(planner, 8));
    expect_plan("n1*2 n2*2 n3*2 n4*2", NULL);
    assert_true(attempt_planner_had_losses(planner));
    /* one loss is bad luck */
    attempt_planner_lose(planner, "n2");
    assert_int_equal(attempt_planner_awaited(planner, names, NODES), 0);
    assert_false(attempt_planner_regain(planner, "n2"));
    assert_true(attempt_planner_is_lost(planner, "n2"));
    attempt_planner_destroy(planner);
}

/* It answers, so that it would be taken back if it were only lost. */
static void a_node_is_left_out_if_there_is_room_without(void **state)
{
    const struct scaling_config want = {
        .num_workers = 6, .max_workers = 6, .cpus_per_worker = 1};
    char *names[NODES];

    (void)state;
    begin(&want);
    assert_true(attempt_planner_leave_out(planner, "n2"));
    expect_plan("n1*2 n3*2 n4*2", NULL);
    assert_true(attempt_planner_is_lost(planner, "n2"));
    assert_int_equal(attempt_planner_awaited(planner, names, NODES), 0);
    assert_false(attempt_planner_regain(planner, "n2"));
    assert_false(attempt_planner_leave_out(planner, "n3"));
    assert_false(attempt_planner_is_lost(planner, "n3"));
    expect_plan("n1*2 n3*2 n4*2", NULL);
    assert_false(attempt_planner_leave_out(planner, "n9"));
    attempt_planner_destroy(planner);
}

/* A machine whose CPUs come and go. */
static int machine_cpus = 4;

static int machine(const struct scaling_config *scaling, struct resources *out,
                   struct error *err)
{
    (void)scaling;
    if (machine_cpus == 0)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory");
    *out = (struct resources){.what = "the test", .n_nodes = 1};
    out->nodes = calloc(1, sizeof *out->nodes);
    assert_non_null(out->nodes);
    out->nodes[0].cpus = machine_cpus;
    assert_non_null(out->nodes[0].name = strdup("here"));
    return 0;
}

static void no_node_is_asked(enum node_purpose purpose, char *const *nodes, size_t n,
                             enum node_answer *answers, struct node_memo *memo)
{
    (void)purpose;
    (void)memo;
    (void)nodes;
    (void)n;
    (void)answers;
}

static void a_refresh_sees_changed_resources(void **state)
{
    const struct scaling_config want = {
        .num_workers = 1, .max_workers = 4, .cpus_per_worker = 1};
    struct launcher_ops ops = {.resources = machine};

    (void)state;
    assert_int_equal(attempt_planner_create(&ops, &want, &planner, NULL), 0);
    expect_plan("here*4", NULL);
    machine_cpus = 1;
    expect_plan("here*4", NULL);
    assert_int_equal(attempt_planner_refresh(planner, NULL), 0);
    expect_plan("here*1", NULL);
    machine_cpus = 0;
    assert_int_equal(attempt_planner_refresh(planner, NULL), -1);
    expect_plan("here*1", NULL);
    machine_cpus = 3;
    assert_false(attempt_planner_can_grow(planner, 1));
    assert_int_equal(attempt_planner_refresh(planner, NULL), 0);
    assert_true(attempt_planner_can_grow(planner, 1));
    /* But if nodes can be lost, what is known about them is kept. */
    ops.ask = no_node_is_asked;
    machine_cpus = 1;
    assert_int_equal(attempt_planner_refresh(planner, NULL), 0);
    expect_plan("here*3", NULL);
    attempt_planner_destroy(planner);
}

/* A switch fails: half of ten thousand nodes are lost, and come back. */
static void thousands_of_nodes_are_lost_and_return(void **state)
{
    const struct scaling_config want = {.num_workers = MANY,
                                        .max_workers = 2 * MANY,
                                        .cpus_per_worker = 1,
                                        .placement_strategy = PLACEMENT_SPREAD};
    const struct launcher_ops ops = {.resources = many_nodes};
    struct placement plan = {0};
    struct error err;
    char name[16], *lost;

    (void)state;
    assert_int_equal(attempt_planner_create(&ops, &want, &planner, NULL), 0);
    for (int i = MANY / 2; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i + 1);
        attempt_planner_lose(planner, name);
        assert_true(attempt_planner_is_lost(planner, name));
    }
    assert_int_equal(attempt_planner_plan(planner, &plan, &err), 0);
    assert_int_equal(plan.n_nodes, MANY / 2);
    assert_int_equal(plan.workers, MANY);
    assert_string_equal(plan.nodes[plan.n_nodes - 1].name, "n5000");
    placement_clear(&plan);
    lost = attempt_planner_lost_names(planner);
    assert_string_equal(lost, "n[5001-9999,10000]");
    free(lost);
    for (int i = MANY / 2; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i + 1);
        assert_true(attempt_planner_regain(planner, name));
    }
    assert_true(attempt_planner_can_grow(planner, MANY));
    attempt_planner_destroy(planner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spare_node_replaces_a_lost_one),
        cmocka_unit_test(a_node_is_left_out_if_there_is_room_without),
        cmocka_unit_test(too_many_spare_nodes_are_refused),
        cmocka_unit_test(an_elastic_plan_takes_what_fits),
        cmocka_unit_test(a_refresh_sees_changed_resources),
        cmocka_unit_test(thousands_of_nodes_are_lost_and_return),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
