/* Lists in the configuration of a training: run_config.callbacks, from files, from --set
 * and from flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "config_fixture.h"

static const struct callbacks_config *callbacks(void)
{
    return &cfg.run_config.callbacks;
}

static void expect_error(int rc, raytrain_status code, const char *holds)
{
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, holds))
        fail_msg("'%s' does not have '%s'", err.text, holds);
}

static void callbacks_are_names_and_groups(void **state)
{
    (void)state;
    assert_int_equal(callbacks()->n, 1);
    assert_int_equal(callbacks()->list[0].kind, CALLBACK_json);
    assert_int_equal(
        train_config_merge_text(
            &cfg, "run_config = { callbacks = ( \"CSV\", { type = \"json\"; } ); };",
            "t.cfg", &err),
        0);
    assert_int_equal(callbacks()->n, 2);
    assert_int_equal(callbacks()->list[0].kind, CALLBACK_csv);
    assert_int_equal(callbacks()->list[1].kind, CALLBACK_json);
    assert_int_equal(train_config_set(&cfg, "run_config.callbacks=()", &err), 0);
    assert_int_equal(callbacks()->n, 0);
    assert_int_equal(train_config_set(&cfg, "seed=1", &err), 0);
}

static void a_wrong_callback_is_refused_and_nothing_changes(void **state)
{
    static const struct {
        const char *list, *holds;
    } rows[] = {
        {"\"csv\"", "t.cfg:2: run_config.callbacks: expected a list of callbacks"},
        {"( 3 )", "t.cfg:2: run_config.callbacks: expected the name of a callback"},
        {"( { name = \"csv\"; } )", "{ type = \"NAME\"; ... }"},
        {"( \"csv\", \"jsom\" )",
         "there is no callback \"jsom\"; did you mean \"json\"?"},
        {"( \"pigeon\" )", "(callbacks: json, csv, "},
        {"( { type = \"csv\"; path = \"x\"; } )",
         "t.cfg:2: run_config.callbacks.csv.path: unknown key"},
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "seed = 1;\nrun_config = { callbacks = %s; };",
                 rows[i].list);
        expect_error(train_config_merge_text(&cfg, text, "t.cfg", &err),
                     RAYTRAIN_EINVAL, rows[i].holds);
        assert_int_equal(callbacks()->n, 1);
        assert_int_equal(callbacks()->list[0].kind, CALLBACK_json);
    }
}

static int add(const char *name)
{
    return callbacks_config_add(&cfg.run_config.callbacks, name, "--callback", &err);
}

static void a_callback_is_added_by_its_name_once(void **state)
{
    (void)state;
    assert_int_equal(add("csv"), 0);
    assert_int_equal(add("json"), 0);
    assert_int_equal(add("csv"), 0);
    assert_int_equal(callbacks()->n, 2);
    assert_int_equal(callbacks()->list[1].kind, CALLBACK_csv);
    expect_error(add("pigeon"), RAYTRAIN_EINVAL, "--callback: there is no callback");
    assert_int_equal(callbacks()->n, 2);
}

static void rendered_callbacks_read_back(void **state)
{
    char *text, *again;

    (void)state;
    assert_int_equal(add("csv"), 0);
    assert_int_equal(train_config_render(&cfg, &text, &err), 0);
    assert_non_null(strstr(text, "callbacks = ( \"json\", \"csv\" );\n"));
    assert_int_equal(train_config_set(&cfg, "run_config.callbacks=()", &err), 0);
    assert_int_equal(train_config_merge_text(&cfg, text, "run.cfg", &err), 0);
    assert_int_equal(train_config_render(&cfg, &again, &err), 0);
    assert_string_equal(text, again);
    free(text);
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, config_setup, config_teardown)
        TEST(callbacks_are_names_and_groups),
        TEST(a_wrong_callback_is_refused_and_nothing_changes),
        TEST(a_callback_is_added_by_its_name_once),
        TEST(rendered_callbacks_read_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
