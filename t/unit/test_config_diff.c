#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config_diff.h"
#include "config/train_config.h"

/* "key: before -> now" of all changes, one per line. */
static void assert_changes(const char *before, const char *now, const char *expected)
{
    struct config_changes changes;
    struct error err = {0};
    char text[4096] = "";
    size_t used = 0;

    if (config_diff(before, now, &changes, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < changes.n; i++) {
        const struct config_change *c = &changes.list[i];

        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s: %s -> %s\n", c->key,
                             c->before ? c->before : "-", c->now ? c->now : "-");
    }
    assert_string_equal(text, expected);
    config_changes_clear(&changes);
}

static void equal_whatever_the_order(void **state)
{
    (void)state;
    assert_changes("a = 1; g = { x = true; y = \"s\"; };",
                   "g = { y = \"s\"; x = true; }; a = 1;", "");
    assert_changes("train_func_kind = \"program\";",
                   "train_func_kind = \"shared_object\";", "");
}

static void changed_values_are_listed(void **state)
{
    (void)state;
    assert_changes("seed = 0;", "seed = 7;", "seed: 0 -> 7\n");
    assert_changes("lr = 0.1;", "lr = 1;", "lr: 0.1 -> 1\n");
    assert_changes("s = \"a\\nb\";", "s = \"\";", "s: \"a\\nb\" -> \"\"\n");
    assert_changes("b = true;", "b = false;", "b: true -> false\n");
    assert_changes("args = ( \"a\" );", "args = ( \"a\", 2 );",
                   "args: (\"a\") -> (\"a\", 2)\n");
    assert_changes("x = 1;", "x = { y = 1; };", "x: 1 -> {\"y\" = 1}\n");
}

static void changes_in_groups_are_listed(void **state)
{
    (void)state;
    assert_changes("scaling_config = { num_workers = 2; gone = 1; };",
                   "scaling_config = { new = 2.5; num_workers = 4; };",
                   "scaling_config.new: - -> 2.5\n"
                   "scaling_config.num_workers: 2 -> 4\n"
                   "scaling_config.gone: 1 -> -\n");
    /* each value of a group that is only on one side */
    assert_changes("a = 1;", "a = 1; datasets = { train = { path = \"x\"; }; };",
                   "datasets.train.path: - -> \"x\"\n");
    assert_changes("g = { h = { i = 1; }; };", "", "g.h.i: 1 -> -\n");
}

/* A long value is cut at the end of a character, but compared as a whole. */
static void long_values_are_shortened(void **state)
{
    char before[1200] = "s = \"", now[1200];
    struct config_changes changes;

    (void)state;
    for (int i = 0; i < 300; i++)
        strcat(before, "\303\244");
    snprintf(now, sizeof now, "%.1100s!\";", before);
    strcat(before, "\";");
    assert_int_equal(config_diff(before, now, &changes, NULL), 0);
    assert_int_equal(changes.n, 1);
    assert_true(strlen(changes.list[0].now) <= 132);
    assert_non_null(strstr(changes.list[0].now, "..."));
    assert_string_equal(changes.list[0].key, "s");
    config_changes_clear(&changes);
}

static void an_invalid_configuration_is_an_error(void **state)
{
    struct config_changes changes;
    struct error err;

    (void)state;
    assert_int_equal(config_diff("a = ", "a = 1;", &changes, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(config_diff("a = 1;", "= 1", &changes, &err), -1);
    assert_null(config_string_of("a = ", "a"));
    assert_null(config_string_of("a = 1;", "a"));
}

/* What run.cfg holds. */
static void real_configurations_are_compared(void **state)
{
    struct train_config cfg;
    struct error err = {0};
    char *before, *now, *name;

    (void)state;
    train_config_init(&cfg);
    assert_int_equal(train_config_merge_text(
                         &cfg,
                         "train_func = \"/x/a.so\"; train_loop_config = { e = 5; };",
                         "t", &err),
                     0);
    assert_int_equal(train_config_render(&cfg, &before, &err), 0);
    assert_int_equal(train_config_merge_text(
                         &cfg, "seed = 3; train_loop_config = { e = 6; };", "t", &err),
                     0);
    assert_int_equal(train_config_render(&cfg, &now, &err), 0);
    assert_changes(before, now, "train_loop_config.e: 5 -> 6\nseed: 0 -> 3\n");
    name = config_string_of(now, "train_func");
    assert_string_equal(name, "/x/a.so");
    free(name);
    free(before);
    free(now);
    train_config_clear(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_whatever_the_order),
        cmocka_unit_test(changed_values_are_listed),
        cmocka_unit_test(changes_in_groups_are_listed),
        cmocka_unit_test(long_values_are_shortened),
        cmocka_unit_test(an_invalid_configuration_is_an_error),
        cmocka_unit_test(real_configurations_are_compared),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
