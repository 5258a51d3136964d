/* The observers of the time: watch/stop_limits.c, with a fake Slurm that gives the
 * answers a test prescribes, and watch/start.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "t/unit/scratch.h"
#include "watch/watch.h"

#define NOW  5000.0 /* when the attempt starts, by its own clock */
#define UNIX 1.7e9  /* and by that of Slurm */

/* ---- A fake Slurm ---- */

static struct {
    bool outside; /* without a job */
    bool broken;  /* squeue cannot be started */
    enum { ANSWERS, THINKS, FAILS } how;
    struct batch_job job;
    int asked, open;
    double ahead, kill_wait_s; /* of the limits */
    bool without_limits;
    int limits_asked;
    bool recalled; /* the job was asked about before */
} slurm;

static struct watch_view view;

static int fake_query_start(struct batch_query **out, struct error *err)
{
    (void)err;
    slurm.asked++;
    if (slurm.broken)
        return -1;
    slurm.open++;
    *out = (struct batch_query *)&slurm;
    return 0;
}

static int fake_query_poll(struct batch_query *query, bool *done, struct batch_job *job,
                           struct error *err)
{
    (void)err;
    assert_ptr_equal(query, &slurm);
    *done = slurm.how == ANSWERS;
    *job = slurm.job;
    return slurm.how == FAILS ? -1 : 0;
}

static void fake_query_destroy(struct batch_query *query)
{
    if (query)
        slurm.open--;
}

static bool fake_recall(double max_age_s, struct batch_job *job)
{
    assert_true(max_age_s > 0);
    *job = slurm.job;
    return slurm.recalled;
}

static int fake_limits_start(struct batch_query **out, struct error *err)
{
    (void)err;
    slurm.limits_asked++;
    slurm.open++;
    *out = (struct batch_query *)&slurm;
    return 0;
}

static int fake_limits_poll(struct batch_query *query, bool *done,
                            struct batch_limits *limits, struct error *err)
{
    (void)err;
    assert_ptr_equal(query, &slurm);
    *done = !slurm.without_limits;
    *limits = (struct batch_limits){.now = view.unix_now + slurm.ahead - 0.5,
                                    .kill_wait_s = slurm.kill_wait_s};
    return slurm.without_limits ? -1 : 0;
}

static const struct batch_ops fake = {.name = "fake",
                                      .query_start = fake_query_start,
                                      .query_poll = fake_query_poll,
                                      .query_destroy = fake_query_destroy,
                                      .recall = fake_recall,
                                      .limits_start = fake_limits_start,
                                      .limits_poll = fake_limits_poll};

/* Counts requests for stacks. */
static int asked_for_stacks;

static int signal_count(struct worker_group *g, int sig, struct error *err)
{
    (void)g;
    (void)sig;
    (void)err;
    asked_for_stacks++;
    return 0;
}

/* ---- A watched attempt ---- */

static struct train_config cfg;
static struct watch_view attempt = {.cfg = &cfg, .signal = signal_count};
static struct failure finding;
static void *state;

/* The job ends this number of seconds after the start of the attempt. */
static void ends_after(double seconds)
{
    slurm.job.end = (int64_t)(UNIX + seconds);
}

static void begin(const struct watch_ops *ops)
{
    struct error err;

    view = attempt;
    view.batch = slurm.outside ? NULL : &fake;
    view.now = view.started = NOW;
    view.unix_now = UNIX;
    state = NULL;
    assert_int_equal(ops->create(&view, &state, &err), 0);
}

static enum watch_verdict tick_after(const struct watch_ops *ops, double seconds)
{
    view.now += seconds;
    view.unix_now += seconds;
    finding = (struct failure){.rank = -1};
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

static int enter(void **unused)
{
    return setup(unused) < 0 ? -1 : scratch_enter(unused);
}

/* ---- Ahead of the end ---- */

static void without_anything_to_observe(void **unused)
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

static void
what_was_asked_before_the_attempt_is_asked_again_before_it_acts(void **unused)
{
    (void)unused;
    slurm.recalled = true;
    ends_after(602);
    begin(&time_watch);
    assert_int_equal(tick(0.5), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 0);
    assert_int_equal(slurm.limits_asked, 1);
    ends_after(1602); /* meanwhile it has got more time */
    assert_int_equal(tick(2), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 1);
    assert_int_equal(tick(0.5), WATCH_GOES_ON);
    assert_int_equal(tick(1000), WATCH_GOES_ON);
    assert_int_equal(tick(0.5), WATCH_STOP);
    end();
}

/* A report arrives after this number of seconds. */
static void report(double seconds)
{
    view.last_report = view.now;
    report_pace_add(&view.pace, seconds);
}

/* The margin is the user's, plus twice the longest report, plus a save. */
static void the_margin_grows_with_the_reports(void **unused)
{
    (void)unused;
    ends_after(1000);
    begin(&time_watch);
    report(1);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    report(100);
    view.save_max_s = 150;
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    report(150);
    assert_int_equal(tick(0.2), WATCH_STOP);
    end();
}

/* It includes compiling, reading data and restoring, unlike later ones. */
static void the_first_report_of_an_attempt_says_nothing_about_the_next(void **unused)
{
    (void)unused;
    ends_after(1000);
    begin(&time_watch);
    report(3000);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    report(10);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    report(190);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    report(200);
    assert_int_equal(tick(0.2), WATCH_STOP);
    end();
}

static void a_slow_report_is_forgotten_after_some_that_were_not(void **unused)
{
    (void)unused;
    ends_after(1000);
    begin(&time_watch);
    report(1);
    report(3000);
    for (int i = 0; i < REPORT_PACE_RECENT; i++)
        report(1);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    end();
}

/* Between the first and the second report, only the time so far is known. */
static void the_report_in_progress_counts(void **unused)
{
    (void)unused;
    ends_after(1000);
    begin(&time_watch);
    report(1);
    assert_int_equal(tick(100), WATCH_GOES_ON);
    assert_int_equal(tick(30), WATCH_GOES_ON);
    assert_int_equal(tick(20), WATCH_GOES_ON); /* asks whether that is still the end */
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
    /* An administrator extends the job; the margin begins later. */
    ends_after(3000);
    assert_int_equal(tick(110), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    assert_int_equal(tick(2200), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    /* And shortens it: noticed when the known end comes near. */
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
    /* Nor killed, however long it takes. */
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

/* Slurm stops answering near the end: the last known end counts. */
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

/* ---- Workers that take their time ---- */

/* Workers are asked to stop at the start of a job that ends after this number of
 * seconds. */
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

static void workers_that_do_not_stop_are_killed_before_the_end(void **unused)
{
    (void)unused;
    stopping(300);
    assert_int_equal(tick(294), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(2), WATCH_GOES_ON); /* asks again */
    assert_int_equal(tick(0.2), WATCH_END);
    assert_int_equal(slurm.asked, 3);
    assert_int_equal(finding.cause, CAUSE_TIME_LIMIT);
    assert_non_null(strstr(finding.message, "not waiting any longer"));
    end();
}

/* The workers get half of a short time. */
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
    assert_non_null(strstr(finding.message, "killed in 0 s"));
    end();
}

static void an_extension_gives_stopping_workers_more_time(void **unused)
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

/* A preempted job ends after the grace time of its partition. */
static void a_preemption_brings_the_end_near(void **unused)
{
    (void)unused;
    cfg.run_config.stop_before_end_s = 1;
    ends_after(1e6);
    begin(&time_watch);
    assert_int_equal(tick(0), WATCH_GOES_ON);
    ends_after(60);
    view.stopping = true; /* for any reason */
    assert_int_equal(tick(30), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 2);
    assert_int_equal(tick(0.2), WATCH_GOES_ON);
    assert_int_equal(tick(25), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_END);
    end();
}

/* A job that is cancelled ends now, and is killed after KillWait. */
static void a_cancelled_job_has_its_kill_wait(void **unused)
{
    (void)unused;
    cfg.run_config.stop_before_end_s = 1;
    slurm.kill_wait_s = 30;
    ends_after(1e6);
    begin(&time_watch);
    assert_int_equal(tick(10), WATCH_GOES_ON);
    ends_after(10);
    view.stopping = true;
    assert_int_equal(tick(0), WATCH_GOES_ON);
    assert_int_equal(tick(0), WATCH_GOES_ON);
    assert_int_equal(tick(24.8), WATCH_GOES_ON);
    assert_int_equal(tick(0.4), WATCH_GOES_ON); /* asks again */
    assert_int_equal(tick(0), WATCH_END);
    assert_non_null(strstr(finding.message, "killed in 5 s"));
    assert_int_equal(slurm.limits_asked, 1);
    end();
}

/* It was asked to stop long before, and is then cancelled: the short time is shared. */
static void a_stopping_job_that_is_cancelled_has_its_kill_wait(void **unused)
{
    (void)unused;
    slurm.kill_wait_s = 5;
    stopping(300);
    assert_int_equal(tick(10), WATCH_GOES_ON);
    ends_after(10);
    view.requests++;
    assert_int_equal(tick(0), WATCH_GOES_ON);
    assert_int_equal(tick(0.1), WATCH_GOES_ON);
    assert_int_equal(tick(2.3), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_END);
    end();
}

/* A further request may come with another end: a cancelled job. */
static void a_further_request_asks_for_the_end_again(void **unused)
{
    (void)unused;
    stopping(300);
    slurm.job.end += 1000;
    view.requests++;
    assert_int_equal(tick(0), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3);
    assert_int_equal(tick(0), WATCH_GOES_ON);
    assert_int_equal(tick(1200), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3);
    end();
}

/* Only differences of the batch system's clock count. */
static void a_clock_that_is_an_hour_off_changes_nothing(void **unused)
{
    static const double hours[] = {-3600, 3600};

    (void)unused;
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        slurm.ahead = hours[i];
        ends_after(700 + hours[i]);
        begin(&time_watch);
        assert_int_equal(tick(0), WATCH_GOES_ON);
        assert_int_equal(tick(95), WATCH_GOES_ON);
        assert_int_equal(tick(6), WATCH_GOES_ON); /* asks again */
        assert_int_equal(tick(0), WATCH_STOP);
        assert_non_null(strstr(finding.message, "in 599 s"));
        end();
    }
}

static void without_the_limits_the_end_counts(void **unused)
{
    (void)unused;
    slurm.without_limits = true;
    stopping(300);
    assert_int_equal(tick(294), WATCH_GOES_ON);
    assert_int_equal(tick(2), WATCH_GOES_ON);
    assert_int_equal(tick(0.2), WATCH_END);
    assert_true(slurm.limits_asked > 1);
    end();
}

/* ---- The grace period ---- */

static void grace_runs_out(void **unused)
{
    (void)unused;
    begin(&grace_watch);
    assert_null(state); /* no limit */
    cfg.run_config.grace_s = 30;
    begin(&grace_watch);
    assert_int_equal(tick_after(&grace_watch, 1e6), WATCH_GOES_ON);
    view.stopping = true; /* it begins when the workers are asked */
    assert_int_equal(tick_after(&grace_watch, 100), WATCH_GOES_ON);
    assert_int_equal(tick_after(&grace_watch, 29.9), WATCH_GOES_ON);
    assert_int_equal(tick_after(&grace_watch, 0.2), WATCH_END);
    assert_non_null(strstr(finding.message, "within 30 s"));
    assert_non_null(strstr(finding.message, "latest checkpoint"));
    grace_watch.destroy(state);
}

/* ---- The start ---- */

static void log_make(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

static const struct placed_node two[] = {{.name = (char *)"n1", .tasks = 2},
                                         {.name = (char *)"n2", .tasks = 1}};
static const struct placement plan_of_two = {
    .workers = 3, .nodes = (struct placed_node *)two, .n_nodes = 2};

/* A prolog runs on one of the nodes for longer than start_timeout_s. */
static void nothing_is_asked(enum node_purpose purpose, char *const *nodes, size_t n,
                             enum node_answer *answers, struct node_memo *memo)
{
    (void)purpose;
    (void)nodes;
    (void)n;
    (void)answers;
    (void)memo;
}

static const struct launcher_ops on_nodes = {.ask = nothing_is_asked}, here = {0};

static void the_start_counts_from_when_all_nodes_run(void **unused)
{
    (void)unused;
    attempt.launcher = &on_nodes;
    cfg.run_config.failure_config.start_timeout_s = 60;
    attempt.plan = &plan_of_two;
    asked_for_stacks = 0;
    begin(&start_watch);
    view.log_dir = ".";
    log_make("rank-00000.out");
    log_make("rank-00001.out");
    assert_int_equal(tick_after(&start_watch, 90), WATCH_GOES_ON);
    log_make("rank-00002.out");
    assert_int_equal(tick_after(&start_watch, 1), WATCH_GOES_ON);
    assert_int_equal(tick_after(&start_watch, 91 + 59), WATCH_GOES_ON);
    assert_int_equal(asked_for_stacks, 0);
    assert_int_equal(tick_after(&start_watch, 2), WATCH_GOES_ON);
    assert_int_equal(asked_for_stacks, 1);
    assert_int_equal(tick_after(&start_watch, 60), WATCH_END);
    assert_int_equal(finding.cause, CAUSE_START);
    start_watch.destroy(state);
}

/* Even if no log ever appears. */
static void the_start_has_an_end_in_any_case(void **unused)
{
    (void)unused;
    attempt.launcher = &on_nodes;
    cfg.run_config.failure_config.start_timeout_s = 60;
    attempt.plan = &plan_of_two;
    begin(&start_watch);
    view.log_dir = "nowhere";
    assert_int_equal(tick_after(&start_watch, 599), WATCH_GOES_ON);
    assert_int_equal(tick_after(&start_watch, 2), WATCH_GOES_ON);
    assert_int_equal(tick_after(&start_watch, 661), WATCH_GOES_ON);
    assert_int_equal(tick_after(&start_watch, 61), WATCH_END);
    start_watch.destroy(state);
}

/* Even without a log, because the PMIx server hangs. */
static void on_this_machine_the_start_counts_at_once(void **unused)
{
    (void)unused;
    cfg.run_config.failure_config.start_timeout_s = 60;
    attempt.launcher = &here;
    attempt.plan = &plan_of_two;
    begin(&start_watch);
    view.log_dir = "nowhere";
    assert_int_equal(tick_after(&start_watch, 59), WATCH_GOES_ON);
    assert_int_equal(tick_after(&start_watch, 2), WATCH_GOES_ON);
    assert_int_equal(tick_after(&start_watch, 60), WATCH_END);
    start_watch.destroy(state);
}

/* ---- Preemption ---- */

/* Slurm is asked when rank 0 has received SIGTERM, and once more after a while: what it
 * answers decides. */
static void a_preempted_job_stops_when_rank_0_hears_of_it(void **unused)
{
    struct rank_status_place zero, one;

    (void)unused;
    begin(&preemption_watch);
    view.log_dir = ".";
    assert_int_equal(rank_status_create(".", 2, 1, NULL), 0);
    rank_status_place(&zero, ".", 0, 0, 0);
    rank_status_place(&one, ".", 1, 1, 0);
    assert_int_equal(rank_status_write(&one, RANK_STATUS_SIGTERM, "SIGTERM", 0), 0);
    slurm.job.preempted = true;
    assert_int_equal(tick_after(&preemption_watch, 2), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 0);
    assert_int_equal(rank_status_write(&zero, RANK_STATUS_SIGTERM, "SIGTERM", 0), 0);
    slurm.job.preempted = false;
    assert_int_equal(tick_after(&preemption_watch, 2), WATCH_GOES_ON);
    assert_int_equal(tick_after(&preemption_watch, 0), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 1);
    slurm.job.preempted = true;
    assert_int_equal(tick_after(&preemption_watch, 2), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 1);
    assert_int_equal(tick_after(&preemption_watch, 10), WATCH_GOES_ON);
    slurm.how = THINKS;
    assert_int_equal(tick_after(&preemption_watch, 1), WATCH_GOES_ON);
    slurm.how = FAILS;
    assert_int_equal(tick_after(&preemption_watch, 1), WATCH_GOES_ON);
    assert_int_equal(slurm.open, 0);
    assert_int_equal(tick_after(&preemption_watch, 10), WATCH_GOES_ON);
    slurm.how = ANSWERS;
    assert_int_equal(tick_after(&preemption_watch, 0), WATCH_STOP);
    assert_int_equal(finding.cause, CAUSE_PREEMPTED);
    view.stopping = true;
    assert_int_equal(tick_after(&preemption_watch, 60), WATCH_GOES_ON);
    assert_int_equal(slurm.asked, 3);
    preemption_watch.destroy(state);
    assert_int_equal(slurm.open, 0);
}

/* The record stays, for hours perhaps. */
static void
after_a_signal_for_another_reason_slurm_is_asked_more_and_more_rarely(void **unused)
{
    struct rank_status_place zero;

    (void)unused;
    begin(&preemption_watch);
    view.log_dir = ".";
    assert_int_equal(rank_status_create(".", 1, 1, NULL), 0);
    rank_status_place(&zero, ".", 0, 0, 0);
    assert_int_equal(rank_status_write(&zero, RANK_STATUS_SIGTERM, "SIGTERM", 0), 0);
    for (int i = 0; i < 3600; i++)
        assert_int_equal(tick_after(&preemption_watch, 1), WATCH_GOES_ON);
    assert_in_range(slurm.asked, 10, 20);
    slurm.job.preempted = true;
    for (int i = 0; i < 330; i++)
        if (tick_after(&preemption_watch, 1) == WATCH_STOP)
            view.stopping = true;
    assert_true(view.stopping);
    preemption_watch.destroy(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        TEST(without_anything_to_observe),
        TEST(stops_ahead_of_the_end),
        TEST(what_was_asked_before_the_attempt_is_asked_again_before_it_acts),
        TEST(the_margin_grows_with_the_reports),
        TEST(the_first_report_of_an_attempt_says_nothing_about_the_next),
        TEST(a_slow_report_is_forgotten_after_some_that_were_not),
        TEST(the_report_in_progress_counts),
        TEST(an_end_that_was_moved_counts),
        TEST(a_job_without_an_end_is_never_stopped),
        TEST(without_an_answer_it_asks_again),
        TEST(a_late_failure_does_not_hide_the_end),
        TEST(workers_that_do_not_stop_are_killed_before_the_end),
        TEST(a_short_time_is_shared),
        TEST(an_end_in_the_past_is_the_end),
        TEST(an_extension_gives_stopping_workers_more_time),
        TEST(a_preemption_brings_the_end_near),
        TEST(a_cancelled_job_has_its_kill_wait),
        TEST(a_stopping_job_that_is_cancelled_has_its_kill_wait),
        TEST(a_further_request_asks_for_the_end_again),
        TEST(a_clock_that_is_an_hour_off_changes_nothing),
        TEST(without_the_limits_the_end_counts),
        TEST(grace_runs_out),
        cmocka_unit_test_setup_teardown(the_start_counts_from_when_all_nodes_run, enter,
                                        scratch_leave),
        TEST(the_start_has_an_end_in_any_case),
        cmocka_unit_test_setup_teardown(a_preempted_job_stops_when_rank_0_hears_of_it,
                                        enter, scratch_leave),
        cmocka_unit_test_setup_teardown(
            after_a_signal_for_another_reason_slurm_is_asked_more_and_more_rarely,
            enter, scratch_leave),
        TEST(on_this_machine_the_start_counts_at_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
