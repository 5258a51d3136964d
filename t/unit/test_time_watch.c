/* The watches that look at the time: time_watch.c, with a Slurm of our own that answers
 * as it is told to, and grace_watch.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "launch/slurm_job.h"
#include "train/grace_watch.h"
#include "train/time_watch.h"

#define NOW  5000.0 /* when the attempt starts, by its own clock */
#define UNIX 1.7e9  /* and by that of Slurm */

/* ---- Slurm, as it is told ----------------------------------------------------------
 */

static struct {
    bool outside; /* there is no job */
    bool broken;  /* it cannot be asked */
    enum { ANSWERS, THINKS, FAILS } how;
    struct slurm_job job;
    int asked, open;
} slurm;

const char *slurm_job_id(void)
{
    return slurm.outside ? NULL : "7";
}

int slurm_query_start(struct slurm_query **out, struct error *err)
{
    (void)err;
    slurm.asked++;
    if (slurm.broken)
        return -1;
    slurm.open++;
    *out = (struct slurm_query *)&slurm;
    return 0;
}

int slurm_query_poll(struct slurm_query *query, bool *done, struct slurm_job *job,
                     struct error *err)
{
    (void)err;
    assert_ptr_equal(query, &slurm);
    *done = slurm.how == ANSWERS;
    *job = slurm.job;
    return slurm.how == FAILS ? -1 : 0;
}

void slurm_query_destroy(struct slurm_query *query)
{
    if (query)
        slurm.open--;
}

/* ---- A watched attempt -------------------------------------------------------------
 */

static struct train_config cfg;
static struct worker_group_spec spec = {.cfg = &cfg};
static struct watch_view view;
static struct watch_finding finding;
static void *state;

/* The job ends so many seconds after the start of the attempt. */
static void ends_after(double seconds)
{
    slurm.job.end = (int64_t)(UNIX + seconds);
}

static void begin(const struct watch_ops *ops)
{
    struct error err;

    view = (struct watch_view){
        .spec = &spec, .now = NOW, .started = NOW, .unix_now = UNIX};
    state = NULL;
    assert_int_equal(ops->create(&view, &state, &err), 0);
}

static enum watch_verdict tick_after(const struct watch_ops *ops, double seconds)
{
    view.now += seconds;
    view.unix_now += seconds;
    finding = (struct watch_finding){.rank = -1};
    return ops->tick(state, &view, &finding);
}

static enum watch_verdict tick(double seconds)
{
    return tick_after(&time_watch, seconds);
}

static void end(void)
{
    time_watch.destroy(state);
    assert_int_equal(slurm.open, 0);
}

static int setup(void **unused)
{
    (void)unused;
    memset(&slurm, 0, sizeof slurm);
    memset(&cfg, 0, sizeof cfg);
    cfg.run_config.stop_before_end_s = 600;
    return 0;
}

/* ---- Ahead of the end --------------------------------------------------------------
 */

static void where_there_is_nothing_to_watch(void **unused)
{
    (void)unused;
    slurm.outside = true;
    begin(&time_watch);
    assert_null(state);
    slurm.outside = false;
    cfg.run_config.stop_before_end_s = 0;
    begin(&time_watch);
    assert_null(state);
    assert_int_equal(slurm.asked, 0);
}

static void stops_ahead_of_the_end(void **unused)
{
    (void)unused;
    ends_after(602);
    begin(&time_watch);
    assert_int_equal(tick(1), WATCH_GOES_ON);
    assert_int_equal(tick(0.5), WATCH_GOES_ON);
    assert_int_equal(tick(1), WATCH_STOP);
    assert_int_equal(finding.cause, CAUSE_TIME_LIMIT);
    assert_non_null(strstr(finding.message, "the allocation ends at "));
    assert_non_null(strstr(finding.message, "in 600 s: stopping at the next report"));
    end();
}

/* The margin is the user's, and twice the longest report, and a save. */
static void the_margin_grows_with_the_reports(void **unused)
{
    (void)unused;
    ends_after(1000);
    begin(&time_watch);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    view.report_max_s = 100;
    view.save_max_s = 150;
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    view.report_max_s = 150;
    assert_int_equal(tick(0.2), WATCH_STOP);
    end();
}

static void an_end_that_was_moved_counts(void **unused)
{
    (void)unused;
    ends_after(700);
    begin(&time_watch);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 1);
    /* An administrator extends the job; then its margin begins, as far as we know. */
    ends_after(3000);
    assert_int_equal(tick(110), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    assert_int_equal(tick(2200), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    /* And makes it shorter: heard of once the known end comes near. */
    ends_after(2500);
    assert_int_equal(tick(100), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3);
    assert_int_equal(tick(0.2), WATCH_STOP);
    assert_non_null(strstr(finding.message, "in 89 s"));
    end();
}

/* Slurm says "Unknown" or "NONE", which is 0 (test_slurm_job.c). */
static void a_job_without_an_end_is_never_stopped(void **unused)
{
    (void)unused;
    begin(&time_watch);
    for (int i = 0; i < 10; i++)
        assert_int_equal(tick(1e5), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 1);
    /* Nor ended, whatever it takes. */
    view.stopping = true;
    for (int i = 0; i < 10; i++)
        assert_int_equal(tick(1e5), WATCH_GOES_ON);
    end();
}

static void without_an_answer_it_asks_again(void **unused)
{
    (void)unused;
    slurm.how = FAILS;
    ends_after(100);
    begin(&time_watch);
    assert_int_equal(tick(1), WATCH_GOES_ON);
    assert_int_equal(tick(50), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 1);
    slurm.broken = true;
    assert_int_equal(tick(20), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    slurm.broken = false;
    slurm.how = THINKS;
    assert_int_equal(tick(70), WATCH_GOES_ON);
    assert_int_equal(tick(70), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3); /* one at a time */
    slurm.how = ANSWERS;
    ends_after(800);
    assert_int_equal(tick(0.2), WATCH_GOES_ON); /* it was asked long ago */
    assert_int_equal(slurm.asked, 4);
    assert_int_equal(tick(0.2), WATCH_STOP);
    end();
}

/* Slurm falls silent when it matters: what was known before stands. */
static void a_late_failure_does_not_hide_the_end(void **unused)
{
    (void)unused;
    ends_after(700);
    begin(&time_watch);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    slurm.how = FAILS;
    assert_int_equal(tick(110), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_STOP);
    end();
}

/* ---- Workers that take their time --------------------------------------------------
 */

/* Asked to stop at the start, of a job that ends after so long. */
static void stopping(double seconds)
{
    ends_after(seconds);
    begin(&time_watch);
    assert_int_equal(tick(0), WATCH_STOP);
    view.stopping = true;
    assert_int_equal(tick(0), WATCH_GOES_ON); /* asks: a preemption moves the end */
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(0), WATCH_GOES_ON);
}

static void who_does_not_stop_is_ended_before_the_end(void **unused)
{
    (void)unused;
    stopping(300);
    assert_int_equal(tick(294), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(2), WATCH_GOES_ON); /* is that still so? */
    assert_int_equal(tick(0.2), WATCH_END);
    assert_int_equal(slurm.asked, 3);
    assert_int_equal(finding.cause, CAUSE_TIME_LIMIT);
    assert_non_null(strstr(finding.message, "not waiting any longer"));
    end();
}

/* Of a short time half is theirs. */
static void a_short_time_is_shared(void **unused)
{
    (void)unused;
    stopping(6);
    assert_int_equal(tick(2.9), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_END);
    end();
}

static void an_end_in_the_past_is_the_end(void **unused)
{
    (void)unused;
    stopping(300);
    assert_int_equal(tick(1000), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_END);
    assert_non_null(strstr(finding.message, "ends in 0 s"));
    end();
}

static void an_extension_gives_who_is_stopping_more_time(void **unused)
{
    (void)unused;
    stopping(300);
    ends_after(4000);
    assert_int_equal(tick(296), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    assert_int_equal(tick(3000), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3);
    end();
}

/* Who preempts gives the grace time of the partition, however late the end was. */
static void a_preemption_brings_the_end_near(void **unused)
{
    (void)unused;
    cfg.run_config.stop_before_end_s = 1;
    ends_after(1e6);
    begin(&time_watch);
    assert_int_equal(tick(0), WATCH_GOES_ON);
    ends_after(60);
    view.stopping = true; /* for what reason ever */
    assert_int_equal(tick(30), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    assert_int_equal(tick(25), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_END);
    end();
}

/* ---- The time of grace -------------------------------------------------------------
 */

static void grace_runs_out(void **unused)
{
    (void)unused;
    begin(&grace_watch);
    assert_null(state); /* no bound */
    cfg.run_config.grace_s = 30;
    begin(&grace_watch);
    assert_int_equal(tick_after(&grace_watch, 1e6), WATCH_GOES_ON);
    view.stopping = true; /* it begins when they were asked */
    assert_int_equal(tick_after(&grace_watch, 100), WATCH_GOES_ON);
    assert_int_equal(tick_after(&grace_watch, 29.9), WATCH_GOES_ON);
    assert_int_equal(tick_after(&grace_watch, 0.2), WATCH_END);
    assert_non_null(strstr(finding.message, "within 30 s"));
    assert_non_null(strstr(finding.message, "latest checkpoint"));
    grace_watch.destroy(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        TEST(where_there_is_nothing_to_watch),
        TEST(stops_ahead_of_the_end),
        TEST(the_margin_grows_with_the_reports),
        TEST(an_end_that_was_moved_counts),
        TEST(a_job_without_an_end_is_never_stopped),
        TEST(without_an_answer_it_asks_again),
        TEST(a_late_failure_does_not_hide_the_end),
        TEST(who_does_not_stop_is_ended_before_the_end),
        TEST(a_short_time_is_shared),
        TEST(an_end_in_the_past_is_the_end),
        TEST(an_extension_gives_who_is_stopping_more_time),
        TEST(a_preemption_brings_the_end_near),
        TEST(grace_runs_out),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
