/* What is known about a run from its reports and attempts: pace, time that remains, the
 * best values, checkpoints. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "view/duration.h"
#include "view/run_state.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static struct train_config cfg;
static struct run_state v;

static int begin(void **state)
{
    (void)state;
    train_config_init(&cfg);
    run_state_init(&v, &cfg, 100);
    return 0;
}

static int end(void **state)
{
    (void)state;
    run_state_clear(&v);
    train_config_clear(&cfg);
    return 0;
}

static void stop_at(const char *metric, const char *value)
{
    char text[128];

    snprintf(text, sizeof text, "run_config.stop.%s=%s", metric, value);
    assert_int_equal(train_config_set(&cfg, text, NULL), 0);
    run_state_clear(&v);
    run_state_init(&v, &cfg, 100);
}

static void attempt(int number)
{
    json_t *a = json_pack("{s:i, s:i, s:[{}, {}], s:s}", "attempt", number, "workers",
                          4, "nodes", "launcher", "local");

    assert_non_null(a);
    run_state_attempt_start(&v, a, 101);
    json_decref(a);
}

static void attempt_ends(const char *outcome, const char *cause)
{
    json_t *a = json_pack("{s:s, s:s?}", "outcome", outcome, "cause", cause);

    assert_non_null(a);
    run_state_attempt_end(&v, a, 150);
    json_decref(a);
}

/* A report with the metric `name`, and the seconds since the one before. */
static void report(int64_t iteration, const char *name, double value, double seconds,
                   double now)
{
    json_t *r = json_pack(
        "{s:I, s:f, s:f, s:I, s:o, s:{s:{}}}", "training_iteration",
        (json_int_t)iteration, "time_total_s", now - 100, "time_this_iter_s", seconds,
        "iterations_since_restore", (json_int_t)(iteration > 50 ? iteration - 50 : 1),
        name, isnan(value) ? json_null() : json_real(value), "by_rank", name);

    assert_non_null(r);
    run_state_report(&v, r, now);
    json_decref(r);
}

static void the_time_that_remains_follows_the_pace(void **state)
{
    (void)state;
    stop_at("training_iteration", "10");
    attempt(0);
    assert_true(isnan(run_state_remaining(&v, 101)));
    report(1, "loss", 3, 20, 120); /* with what it takes to start */
    assert_true(isnan(run_state_remaining(&v, 120)));
    report(2, "loss", 3, 2, 122);
    assert_near(run_state_remaining(&v, 122), 16);
    report(3, "loss", 3, 4, 126);
    assert_near(run_state_pace(&v), 3);
    assert_near(run_state_remaining(&v, 127), 20);
    assert_near(run_state_remaining(&v, 1000), 0);
    assert_near(run_state_fraction(&v), 0.3);
}

static void the_pace_is_that_of_this_attempt_and_of_late(void **state)
{
    (void)state;
    attempt(0);
    for (int i = 1; i <= 10; i++)
        report(i, "loss", 1, 100, 100 + i);
    attempt(1);
    assert_true(isnan(run_state_pace(&v)));
    for (int i = 9; i <= 100; i++)
        report(i, "loss", 1, i < 50 ? 7 : 1, 200 + i);
    assert_near(run_state_pace(&v), 1);
}

static void the_end_is_the_first_of_those_that_are_known(void **state)
{
    (void)state;
    assert_int_equal(run_state_last(&v), 0);
    run_state_total(&v, 50);
    assert_int_equal(run_state_last(&v), 50);
    run_state_total(&v, 70); /* a later one replaces it */
    assert_int_equal(run_state_last(&v), 70);
    stop_at("training_iteration", "60");
    run_state_total(&v, 70);
    assert_int_equal(run_state_last(&v), 60);
    run_state_total(&v, 0);
    assert_int_equal(run_state_last(&v), 60);
    stop_at("iterations_since_restore", "5");
    report(52, "loss", 1, 1, 110);
    assert_int_equal(run_state_last(&v), 55);
}

static void a_limit_of_time_counts_as_well(void **state)
{
    (void)state;
    stop_at("time_total_s", "40");
    attempt(0);
    report(1, "loss", 1, 10, 110);
    assert_near(run_state_remaining(&v, 112), 28);
    assert_near(run_state_fraction(&v), 0.25);
}

static void the_rounds_of_trees_are_the_end(void **state)
{
    (void)state;
    assert_int_equal(train_config_set(&cfg, "trainer=xgboost", NULL), 0);
    assert_int_equal(train_config_set(&cfg, "num_boost_round=30", NULL), 0);
    run_state_clear(&v);
    run_state_init(&v, &cfg, 100);
    assert_int_equal(run_state_last(&v), 30);
}

static void values_that_are_taken_back_are_not_the_best(void **state)
{
    const struct metric_view *m;

    (void)state;
    report(1, "loss", 5, 1, 101);
    report(2, "loss", 3, 1, 102);
    report(3, "loss", 1, 1, 103);
    m = v.metrics[0];
    assert_near(metric_view_best(m)->value, 1);
    report(2, "loss", 4, 1, 104); /* an attempt continued from iteration 1 */
    assert_near(metric_view_best(m)->value, 4);
    assert_int_equal(metric_view_best(m)->iteration, 2);
    assert_int_equal(m->n_course, 2);
    report(3, "loss", NAN, 1, 105);
    assert_near(metric_view_best(m)->value, 4);
    assert_true(isnan(m->last));
    for (int i = 4; i < 2000; i++)
        report(i, "loss", 1.0 / i, 1, 110);
    assert_int_equal(metric_view_best(m)->iteration, 1999);
    assert_int_equal(m->n_course, METRIC_COURSE);
    report(1, "loss", 9, 1, 111);
    assert_near(metric_view_best(m)->value, 9);
}

static void the_score_of_checkpoints_says_what_is_best(void **state)
{
    (void)state;
    assert_int_equal(train_config_set(&cfg,
                                      "run_config.checkpoint_config."
                                      "checkpoint_score_attribute=loss",
                                      NULL),
                     0);
    report(1, "loss", 1, 1, 101);
    report(2, "loss", 2, 1, 102);
    assert_int_equal(metric_view_best(v.metrics[0])->iteration, 2); /* the most */
    report(3, "depth", 2, 1, 103);
    assert_null(metric_view_best(v.metrics[1]));
}

static void names_say_what_is_better(void **state)
{
    (void)state;
    assert_int_equal(metric_aim_of("loss"), AIM_LESS);
    assert_int_equal(metric_aim_of("valid-logloss"), AIM_LESS);
    assert_int_equal(metric_aim_of("val/top5.Accuracy"), AIM_MORE);
    assert_int_equal(metric_aim_of("lossless"), AIM_UNKNOWN);
    assert_int_equal(metric_aim_of("epoch"), AIM_UNKNOWN);
    assert_int_equal(metric_aim_of(""), AIM_UNKNOWN);
}

static void rates_have_a_unit(void **state)
{
    char unit[METRIC_TEXT];

    (void)state;
    report(1, "loss", 1, 1, 101);
    assert_null(run_state_rate(&v, unit));
    report(2, "train/samples_per_s", 512, 1, 102);
    assert_near(run_state_rate(&v, unit)->last, 512);
    assert_string_equal(unit, "samples/s");
    assert_false(run_state_is_rate(v.metrics[0]));
    assert_true(run_state_is_rate(v.metrics[1]));
}

static void failures_are_counted_and_restarts_follow_them(void **state)
{
    (void)state;
    attempt(0);
    attempt_ends("failed", "worker");
    assert_int_equal(v.failures, 1);
    assert_int_equal(v.restarts, 0);
    attempt(1);
    assert_int_equal(v.restarts, 1);
    attempt_ends("failed", "start"); /* does not count */
    attempt_ends("stopped", "signal");
    attempt_ends("finished", NULL);
    assert_int_equal(v.failures, 1);
    assert_int_equal(v.attempts, 2);
}

static void only_the_first_line_of_an_event_is_kept(void **state)
{
    (void)state;
    run_state_note(&v, "attempt 0 failed: rank 1\n  restarting", 105);
    assert_string_equal(v.event, "attempt 0 failed: rank 1");
}

static void a_checkpoint_that_is_on_storage_is_not_being_saved(void **state)
{
    json_t *r = json_pack("{s:i, s:s, s:{}}", "training_iteration", 4, "checkpoint",
                          "checkpoint_000004.h5", "by_rank");

    (void)state;
    assert_non_null(r);
    run_state_report(&v, r, 104);
    json_decref(r);
    assert_int_equal(v.saving, 4);
    run_state_saved(&v, 3, 10, 104);
    assert_int_equal(v.saving, 4);
    run_state_saved(&v, 4, 10, 105);
    assert_int_equal(v.saving, 0);
    assert_int_equal(v.newest, 4);
}

static void durations_are_short(void **state)
{
    static const struct {
        double seconds;
        const char *duration, *age;
    } rows[] = {
        {0, "0:00", "just now"},          {7.9, "0:07", "7 s ago"},
        {750, "12:30", "12 min ago"},     {3723, "1:02:03", "1 h ago"},
        {273900, "3 d 04:05", "3 d ago"}, {-5, "0:00", "just now"},
        {NAN, "0:00", "just now"},
    };
    char text[DURATION_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(duration_text(rows[i].seconds, text), rows[i].duration);
        assert_string_equal(age_text(rows[i].seconds, text), rows[i].age);
    }
    assert_true(strlen(duration_text(INFINITY, text)) < DURATION_TEXT - 1);
    assert_string_equal(pace_text(0.0123, text), "12.3 ms");
    assert_string_equal(pace_text(0.52, text), "0.52 s");
    assert_string_equal(pace_text(130, text), "2:10");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_time_that_remains_follows_the_pace),
        TEST(the_pace_is_that_of_this_attempt_and_of_late),
        TEST(the_end_is_the_first_of_those_that_are_known),
        TEST(a_limit_of_time_counts_as_well),
        TEST(the_rounds_of_trees_are_the_end),
        TEST(values_that_are_taken_back_are_not_the_best),
        TEST(the_score_of_checkpoints_says_what_is_best),
        TEST(names_say_what_is_better),
        TEST(rates_have_a_unit),
        TEST(failures_are_counted_and_restarts_follow_them),
        TEST(only_the_first_line_of_an_event_is_kept),
        TEST(a_checkpoint_that_is_on_storage_is_not_being_saved),
        TEST(durations_are_short),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
