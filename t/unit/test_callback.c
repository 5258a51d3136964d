/* The callbacks of a run: which there are, what each hears, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "callback/callback.h"
#include "config/train_config.h"

static struct train_config cfg;
static struct options opt = {.quiet = true};
static struct callback_context context = {
    .cfg = &cfg, .opt = &opt, .run_dir = "/nowhere"};
static struct callback_list list;
static char heard[256]; /* by the listeners: their letter, and what */

/* ---- A listener ---- */

static void hear(struct callback *cb, const char *what, long number)
{
    size_t used = strlen(heard);

    snprintf(heard + used, sizeof heard - used, "%s%s%ld ", (const char *)cb->impl,
             what, number);
}

static int listener_create(struct callback *cb, const struct callback_context *c,
                           struct error *err)
{
    (void)err;
    assert_ptr_equal(c, &context);
    cb->impl = list.n == 0 ? (void *)"a" : (void *)"b";
    return 0;
}

static int refusing_create(struct callback *cb, const struct callback_context *c,
                           struct error *err)
{
    (void)cb;
    (void)c;
    return error_set(err, RAYTRAIN_EINVAL, "not today");
}

static void on_rewind(struct callback *cb, int64_t iteration)
{
    hear(cb, "<", (long)iteration);
}

static void on_report(struct callback *cb, const json_t *report)
{
    hear(cb, "=",
         (long)json_integer_value(json_object_get(report, "training_iteration")));
}

static void on_total(struct callback *cb, int64_t iterations)
{
    hear(cb, "/", (long)iterations);
}

static void on_note(struct callback *cb, const char *text)
{
    (void)cb;
    snprintf(heard, sizeof heard, "%s", text);
}

static void listener_destroy(struct callback *cb)
{
    hear(cb, ".", 0);
}

static const struct callback_ops listener = {.create = listener_create,
                                             .on_rewind = on_rewind,
                                             .on_total = on_total,
                                             .on_report = on_report,
                                             .on_note = on_note,
                                             .destroy = listener_destroy};
static const struct callback_ops passing_on = {
    .passes_on = true, .create = refusing_create, .on_report = on_report};
static const struct callback_ops deaf = {.create = listener_create};
static const struct callback_ops refusing = {.create = refusing_create};

/* Whether it was parsed. */
static bool report(long iteration)
{
    struct logged_report r;
    char line[64];
    bool parsed;

    snprintf(line, sizeof line, "{\"training_iteration\":%ld}", iteration);
    assert_true(logged_report_init(&r, line, strlen(line)));
    callback_report(&list, &r);
    parsed = r.json != NULL;
    logged_report_clear(&r);
    return parsed;
}

static int setup(void **state)
{
    (void)state;
    heard[0] = '\0';
    list = (struct callback_list){0};
    train_config_init(&cfg);
    return event_loop_create(&context.loop, NULL);
}

static int teardown(void **state)
{
    (void)state;
    callback_list_destroy(&list);
    train_config_clear(&cfg);
    event_loop_destroy(context.loop);
    return 0;
}

/* ---- Tests ---- */

static void callbacks_hear_in_their_order(void **state)
{
    (void)state;
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    report(1);
    callback_list_destroy(&list);
    assert_string_equal(heard, "a=1 b=1 a.0 b.0 ");
}

static void callbacks_hear_the_total(void **state)
{
    (void)state;
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    callback_total(&list, 40);
    callback_total(&list, 0);
    assert_string_equal(heard, "a/40 a/0 ");
}

static void an_empty_slot_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(callback_list_add(&list, &deaf, &context, NULL), 0);
    report(1);
    report(1);
    callback_note(&list, "%s", "note");
    callback_list_destroy(&list);
    assert_string_equal(heard, "");
}

/* Those of a traceback are not; its own indentation stays. */
static void the_lines_of_a_note_are_indented(void **state)
{
    (void)state;
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    callback_note(&list, "failed: %s", "ValueError: boom\n\nTraceback:\n  File x\n");
    assert_string_equal(heard,
                        "failed: ValueError: boom\n\n  Traceback:\n    File x\n");
    callback_note(&list, "failed\n  try again\n\n    like this");
    assert_string_equal(heard, "failed\n  try again\n\n    like this");
}

static void a_rewind_comes_before_the_report_that_shows_it(void **state)
{
    (void)state;
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    report(5); /* of a run that is resumed: not a rewind */
    report(6);
    report(7);
    report(6);
    report(7);
    report(7);
    assert_string_equal(heard, "a=5 a=6 a=7 a<5 a=6 a=7 a<6 a=7 ");
}

/* It takes as long as to make one. */
static void a_report_that_no_callback_takes_is_not_parsed(void **state)
{
    (void)state;
    assert_int_equal(callback_list_create(&list, &context, NULL), 0);
    assert_false(report(1));
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    assert_true(report(2));
    assert_string_equal(heard, "b=2 ");
}

static void the_configuration_names_callbacks(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(callback_list_create(&list, &context, &err), 0);
    assert_int_equal(list.n, 2); /* progress, and "json" by default */
    callback_list_destroy(&list);
    assert_int_equal(callbacks_config_add(&cfg.run_config.callbacks, "carrier_pigeon",
                                          "--callback", &err),
                     -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "carrier_pigeon"));
    assert_int_equal(cfg.run_config.callbacks.n, 1);
}

static void a_callback_may_refuse_the_configuration(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(callback_list_add(&list, &listener, &context, NULL), 0);
    assert_int_equal(callback_list_add(&list, &refusing, &context, &err), -1);
    assert_string_equal(err.text, "not today");
    assert_int_equal(list.n, 1);
}

static void a_run_that_had_finished_is_not_passed_on(void **state)
{
    struct callback_context later = context;

    (void)state;
    later.finished = true;
    assert_int_equal(callback_list_add(&list, &passing_on, &later, NULL), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(callback_list_add(&list, &passing_on, &context, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(callbacks_hear_in_their_order),
        TEST(callbacks_hear_the_total),
        TEST(an_empty_slot_is_passed_over),
        TEST(the_lines_of_a_note_are_indented),
        TEST(a_rewind_comes_before_the_report_that_shows_it),
        TEST(a_report_that_no_callback_takes_is_not_parsed),
        TEST(the_configuration_names_callbacks),
        TEST(a_callback_may_refuse_the_configuration),
        TEST(a_run_that_had_finished_is_not_passed_on),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
