#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "run/journal.h"
#include "run/metrics.h"
#include "run/metrics_collector.h"
#include "run/run_dir.h"
#include "scratch.h"
#include "util/fs.h"
#include "util/report_number.h"

static json_t *report(int iteration, int attempt, double loss)
{
    return json_pack("{s:i, s:i, s:o, s:{s:{s:f, s:f, s:f}}, s:s?}",
                     "training_iteration", iteration, "attempt", attempt, "loss",
                     isnan(loss) ? json_null() : json_real(loss), "by_rank", "loss",
                     "rank0", loss == loss ? loss : 0.0, "min", -1.0, "max", 9.0,
                     "checkpoint", iteration % 2 ? NULL : "checkpoint_000002.h5");
}

static struct journal *journal;
static struct metrics_collector *collector;

/* The log directory of attempt k, and its journal. */
static void attempt_start(int k)
{
    struct error err;
    char *log_dir;

    assert_int_equal(run_dir_make_log_dir(".", k, &log_dir, &err), 0);
    journal_close(journal);
    assert_int_equal(journal_open(log_dir, METRICS_JOURNAL, &journal, &err), 0);
    if (collector)
        assert_int_equal(metrics_collector_follow(collector, log_dir, &err), 0);
    free(log_dir);
}

static void launcher_start(void)
{
    struct error err;

    if (metrics_collector_open(".", &collector, &err) < 0)
        fail_msg("%s", err.text);
}

/* Killed: it does nothing more. */
static void launcher_end(void)
{
    metrics_collector_close(collector);
    collector = NULL;
}

static int teardown(void **state)
{
    launcher_end();
    journal_close(journal);
    journal = NULL;
    return scratch_leave(state);
}

static void put(json_t *report, bool if_missing)
{
    struct error err;
    char *line;

    assert_non_null(report);
    if (if_missing)
        json_object_set_new(report, METRICS_IF_MISSING, json_true());
    line = json_dumps(report, JSON_COMPACT);
    assert_int_equal(journal_append(journal, line, strlen(line), &err), 0);
    free(line);
    json_decref(report);
}

struct seen {
    int n;
    json_int_t last;
};

static void count(void *arg, const json_t *line)
{
    struct seen *seen = arg;

    seen->n++;
    seen->last = json_integer_value(json_object_get(line, "training_iteration"));
}

static void collected_count(void *arg, struct logged_report *report)
{
    const json_t *json = logged_report_json(report);
    struct seen *seen = arg;

    count(arg, json);
    assert_int_equal(report->iteration, seen->last);
    assert_null(json_object_get(json, METRICS_IF_MISSING));
}

static void poll_gives(int n)
{
    struct seen seen = {0};
    struct error err;

    assert_int_equal(metrics_collector_poll(collector, collected_count, &seen, &err),
                     0);
    assert_int_equal(seen.n, n);
}

/* The iterations of all lines of result.json, including those that do not count. */
static void file_has(const char *expected)
{
    char actual[256] = "", *text, *line, *save;

    assert_int_equal(fs_read("result.json", &text, NULL, NULL), 0);
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *report = json_loads(line, 0, NULL);

        assert_non_null(report);
        snprintf(actual + strlen(actual), sizeof actual - strlen(actual), " %lld",
                 json_integer_value(json_object_get(report, "training_iteration")));
        json_decref(report);
    }
    assert_string_equal(actual, expected);
    free(text);
}

static void reports_are_collected_as_they_come(void **state)
{
    struct error err;

    (void)state;
    launcher_start();
    poll_gives(0);
    attempt_start(0);
    poll_gives(0);
    put(report(1, 0, 0.5), false);
    put(report(2, 0, NAN), false);
    poll_gives(2);
    poll_gives(0);
    file_has(" 1 2");
    put(report(3, 0, 0.25), false);
    poll_gives(1);
    attempt_start(1);
    put(report(3, 1, 0.25), false);
    poll_gives(1);
    assert_int_equal(metrics_collector_settle(collector, &err), 0);
    file_has(" 1 2 3 3");
    assert_int_equal(access("logs/attempt-0/reports.0", F_OK), -1);
    assert_int_equal(access("logs/attempt-1/reports.0", F_OK), -1);
}

/* Whatever the launcher has not collected, even if it has left half a line. */
static void the_next_launcher_continues_after_one_was_killed(void **state)
{
    struct seen seen = {0};
    struct error err;
    struct stat st;

    (void)state;
    launcher_start();
    attempt_start(0);
    put(report(1, 0, 0.5), false);
    put(report(2, 0, 0.5), false);
    poll_gives(2);
    put(report(3, 0, 0.5), false);
    launcher_end();
    assert_int_equal(metrics_each(".", count, &seen, &err), 0);
    assert_int_equal(seen.n, 3); /* a reader does not miss it */
    attempt_start(1);
    put(report(2, 1, 0.5), false);
    assert_int_equal(stat("result.json", &st), 0);
    assert_int_equal(truncate("result.json", st.st_size - 5), 0);
    launcher_start();
    file_has(" 1 2 3 2");
    launcher_end();
    launcher_start();
    attempt_start(1);
    poll_gives(1); /* it has not seen any report of this attempt */
    launcher_end();
    assert_int_equal(unlink("result.json"), 0);
    launcher_start();
    assert_int_equal(metrics_collector_settle(collector, &err), 0);
    file_has(" 1 2 3 2");
    launcher_end();
    launcher_start();
    file_has(" 1 2 3 2");
}

/* The file that this launcher writes is not open in another process, nor cached on
 * another node. */
static void each_launcher_has_a_file_of_its_own(void **state)
{
    struct stat before, after;

    (void)state;
    assert_int_equal(fs_write_atomic("result.json", "{}\n", 3, 0600, NULL), 0);
    assert_int_equal(stat("result.json", &before), 0);
    launcher_start();
    assert_int_equal(stat("result.json", &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_int_equal(scratch_count("."), 1);
}

static void a_report_that_may_be_missing_counts_once(void **state)
{
    json_t *kept;

    (void)state;
    launcher_start();
    attempt_start(0);
    put(report(1, 0, 0.5), false);
    poll_gives(1);
    attempt_start(1);
    put(report(1, 0, 0.5), true);
    put(report(2, 1, 0.5), false);
    poll_gives(1);
    attempt_start(2);
    put(report(3, 1, 0.5), true);
    launcher_end();
    assert_int_equal(metrics_load(".", &kept, NULL), 0);
    assert_int_equal(json_array_size(kept), 3);
    json_decref(kept);
    launcher_start();
    file_has(" 1 2 3");
    launcher_end();
    launcher_start();
    file_has(" 1 2 3");
}

static void put_line(const char *line)
{
    assert_int_equal(journal_append(journal, line, strlen(line), NULL), 0);
}

static void workers_check(void *arg, struct logged_report *report)
{
    const json_t *workers = logged_report_workers(report);
    int *n = arg;

    (*n)++;
    assert_int_equal(json_array_size(workers), report->iteration == 1 ? 2 : 0);
    assert_null(json_object_get(logged_report_json(report), METRICS_WORKERS));
}

/* Also those that an earlier launcher has not collected. Within a metric, the key is
 * one of the user. */
static void what_all_workers_report_is_passed_on_and_not_kept(void **state)
{
    json_t *kept;
    char *text;
    int n = 0;

    (void)state;
    launcher_start();
    attempt_start(0);
    put_line("{\"?workers\":[{\"x\":1},{\"x\":2}],\"training_iteration\":1}");
    put_line("{\"training_iteration\":2,\"reported\":{\"?workers\":[1,2]}}");
    assert_int_equal(metrics_collector_poll(collector, workers_check, &n, NULL), 0);
    assert_int_equal(n, 2);
    put_line("{\"?workers\":[{},{}],\"training_iteration\":3}");
    launcher_end();
    assert_int_equal(metrics_load(".", &kept, NULL), 0);
    assert_int_equal(json_array_size(kept), 3);
    assert_int_equal(json_object_size(json_array_get(kept, 2)), 1);
    json_decref(kept);
    for (int i = 0; i < 2; i++) {
        launcher_start();
        file_has(" 1 2 3");
        launcher_end();
    }
    assert_int_equal(fs_read("result.json", &text, NULL, NULL), 0);
    assert_string_equal(text,
                        "{\"training_iteration\":1}\n"
                        "{\"training_iteration\":2,\"reported\":{\"?workers\":[1,2]}}\n"
                        "{\"training_iteration\":3}\n");
    free(text);
}

static void incomplete_and_invalid_lines_are_skipped(void **state)
{
    static const char text[] = "{\"training_iteration\":1}\n[1,2]\nrubbish\n\n{\"trai";
    struct seen seen = {0};
    struct error err;

    (void)state;
    assert_int_equal(fs_write_atomic("result.json", text, strlen(text), 0600, &err), 0);
    attempt_start(0);
    assert_int_equal(journal_append(journal, "rubbish", 7, &err), 0);
    put(report(7, 0, 0), false);
    assert_int_equal(metrics_each(".", count, &seen, &err), 0);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.last, 7);
}

static void a_full_disk_delays_and_loses_nothing(void **state)
{
    struct rlimit before, small;
    struct seen seen = {0};
    struct error err;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    launcher_start();
    attempt_start(0);
    put(report(1, 0, 0.5), false);
    poll_gives(1);
    put(report(2, 0, 0.5), false);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 200;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(metrics_collector_poll(collector, collected_count, &seen, &err),
                     -1);
    assert_int_equal(metrics_collector_settle(collector, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "result.json"));
    assert_int_equal(seen.n, 1); /* it is reported at once */
    file_has(" 1");
    poll_gives(0);
    file_has(" 1 2");
}

/* A later attempt that went back replaces the reports that it repeats. */
static void load_keeps_valid_reports(void **state)
{
    static const struct {
        int iteration, attempt;
    } lines[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {3, 1}, {4, 1}, {5, 1}, {5, 2}};
    static const int want[] = {0, 0, 1, 1, 2};
    struct error err;
    json_t *kept;

    (void)state;
    assert_int_equal(metrics_load("absent", &kept, &err), 0);
    assert_int_equal(json_array_size(kept), 0);
    json_decref(kept);
    for (size_t i = 0; i < 8; i++) {
        attempt_start(lines[i].attempt);
        put(report(lines[i].iteration, lines[i].attempt, 0), false);
    }
    put(json_pack("{s:s}", "no", "report"), false);
    assert_int_equal(metrics_load(".", &kept, &err), 0);
    assert_int_equal(json_array_size(kept), 5);
    for (size_t i = 0; i < 5; i++) {
        json_t *one = json_array_get(kept, i);

        assert_int_equal(json_integer_value(json_object_get(one, "training_iteration")),
                         i + 1);
        assert_int_equal(json_integer_value(json_object_get(one, "attempt")), want[i]);
    }
    json_decref(kept);
}

/* ---- result.h5 ---- */

static json_t *result(const char *status)
{
    return json_pack("{s:s, s:s, s:{}, s:s, s:n, s:i, s:{s:s}}", "status", status,
                     "path", "/r", "metrics", "checkpoint", "/r/checkpoint_000002.h5",
                     "best_checkpoint", "attempts", 2, "error", "message", "it broke");
}

static json_t *attempts(void)
{
    return json_pack("[{s:i, s:i, s:[{s:s, s:i}], s:f, s:s}, {s:i, s:s}]", "attempt", 0,
                     "workers", 2, "nodes", "name", "n1", "tasks", 2, "start", 5.0,
                     "outcome", "failed", "attempt", 1, "outcome",
                     "finished after a long while");
}

static void column_check(hid_t file, const char *name, const double *want, size_t n)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    double got[16];

    assert_true(set >= 0);
    assert_int_equal(
        H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got), 0);
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])));
    H5Dclose(set);
}

static void add(struct metrics_table *table, json_t *report)
{
    char *line = json_dumps(report, 0);

    assert_non_null(line);
    assert_int_equal(metrics_table_add(table, line, strlen(line)), 0);
    free(line);
    json_decref(report);
}

static void add_line(struct metrics_table *table, const char *line)
{
    assert_int_equal(metrics_table_add(table, line, strlen(line)), 0);
}

/* Its lines are not parsed by jansson. */
static void a_table_takes_lines_as_they_are(void **state)
{
    struct metrics_table t = {0};
    json_t *last;

    (void)state;
    add_line(&t, "rubbish");
    add_line(&t, "[1]");
    add_line(&t, "{\"training_iteration\":\"1\"}");
    add_line(&t, "{\"training_iteration\":1.5}");
    add_line(&t, "{\"training_iteration\":1,\"loss\":2,\"by_rank\":[{\"loss\":{}}]}");
    assert_int_equal(t.n, 1);
    assert_int_equal(t.n_columns, 0);
    add_line(&t,
             " { \"loss\" : 2.5e-1 , \"training_iteration\":2, \"note\":\"a \\\"}\\n\","
             "\"v\":[1,2], \"k\":-7, \"by_rank\" : {\"note\":{},\"v\":{},\"k\":{}, "
             "\"gone\":{}, \"loss\":{\"max\":3, \"min\":null,\"rank0\":1} } } ");
    assert_int_equal(t.n, 2);
    assert_int_equal(t.n_columns, 4);
    assert_string_equal(json_string_value(t.columns[0].others[1]), "a \"}\n");
    assert_int_equal(json_array_size(t.columns[1].others[1]), 2);
    assert_int_equal(t.columns[2].integers[1], -7);
    assert_int_equal(t.columns[2].integers[0], METRIC_INT_MISSING);
    assert_true(t.columns[3].numbers[1].mean == 0.25);
    assert_true(t.columns[3].numbers[1].rank0 == 1);
    assert_true(isnan(t.columns[3].numbers[1].min));
    assert_true(t.columns[3].numbers[1].max == 3);
    add_line(&t, "{\"training_iteration\":2,\"?\":true,\"attempt\":5}");
    assert_int_equal(t.fields[1][1].integer, 0);
    add_line(&t, "{\"training_iteration\":3,\"?\":true,\"attempt\":5}");
    assert_int_equal(t.n, 3);
    last = metrics_table_last(&t);
    assert_int_equal(json_integer_value(json_object_get(last, "attempt")), 5);
    assert_null(json_object_get(last, "?"));
    json_decref(last);
    add_line(&t, "{\"training_iteration\":2,\"attempt\":6}");
    assert_int_equal(t.n, 2);
    assert_int_equal(t.n_superseded, 2);
    metrics_table_clear(&t);
}

/* A run that a client of an older version began, and one of this version continues.
 */
static void values_of_rank_0_and_means_are_not_mixed_up(void **state)
{
    json_t *none = json_array(), *res = result("finished"), *line;
    struct metrics_table t = {0};
    struct error err;
    hid_t file;

    (void)state;
    add_line(&t, "{\"training_iteration\":1,\"loss\":3.0,\"by_rank\":"
                 "{\"loss\":{\"rank0\":2.0,\"min\":2.0,\"max\":4.0}}}");
    add_line(&t, "{\"training_iteration\":2,\"loss\":5.0,\"gpu\":7.0,"
                 "\"reported\":{\"loss\":5},\"by_rank\":{\"loss\":{\"rank0\":5.0,"
                 "\"min\":5.0,\"max\":7.0,\"mean\":6.0},\"gpu\":{\"rank0\":8.0,"
                 "\"min\":6.0,\"max\":8.0}}}");
    add_line(&t, "{\"training_iteration\":3,\"loss\":null,\"reported\":{},\"by_rank\":"
                 "{\"loss\":{\"rank0\":\"Infinity\",\"min\":1.0,\"max\":null,"
                 "\"mean\":null}}}");
    assert_int_equal(t.n_columns, 2);
    assert_true(t.columns[0].numbers[0].mean == 3);
    assert_true(t.columns[0].numbers[2].value == INFINITY);
    assert_int_equal(metrics_write_h5("result.h5", &t, res, none, &err), 0);
    file = H5Fopen("result.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    column_check(file, "/metrics/loss", (double[]){3, 5, INFINITY}, 3);
    column_check(file, "/metrics_rank0/loss", (double[]){2, 5, INFINITY}, 3);
    column_check(file, "/metrics_mean/loss", (double[]){3, 6, NAN}, 3);
    column_check(file, "/metrics/gpu", (double[]){NAN, 7, NAN}, 3);
    assert_int_equal(H5Lexists(file, "/metrics_mean/gpu", H5P_DEFAULT), 0);
    H5Fclose(file);
    line = metrics_table_last(&t);
    assert_true(metric_number(line, "loss") == INFINITY);
    json_decref(line);
    metrics_table_clear(&t);
    json_decref(res);
    json_decref(none);
}

static void the_result_is_written_as_hdf5(void **state)
{
    json_t *res = result("failed"), *att = attempts();
    struct metrics_table reports = {0};
    struct error err;
    char *status, *bytes;
    size_t n;
    hid_t file;

    (void)state;
    add(&reports, report(1, 0, 0.5));
    add(&reports, report(2, 0, NAN));
    /* Names that cannot all be paths. */
    add(&reports, json_pack("{s:i, s:f, s:f, s:{s:{s:f}, s:{}}}", "training_iteration",
                            3, "loss/x", 4.0, "a/./b", 5.0, "by_rank", "loss/x",
                            "rank0", 6.0, "a/./b"));
    assert_int_equal(metrics_write_h5("result.h5", &reports, res, att, &err), 0);
    assert_int_equal(metrics_read_status("result.h5", &status, &err), 0);
    assert_string_equal(status, "failed");
    free(status);
    file = H5Fopen("result.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    column_check(file, "/metrics/loss", (double[]){0.5, NAN, NAN}, 3);
    column_check(file, "/metrics_rank0/loss", (double[]){0.5, 0, NAN}, 3);
    column_check(file, "/metrics_min/loss", (double[]){-1, -1, NAN}, 3);
    column_check(file, "/metrics_max/loss", (double[]){9, 9, NAN}, 3);
    column_check(file, "/metrics/loss:x", (double[]){NAN, NAN, 4}, 3);
    column_check(file, "/metrics_rank0/loss:x", (double[]){NAN, NAN, 6}, 3);
    column_check(file, "/metrics/a:.:b", (double[]){NAN, NAN, 5}, 3);
    H5Fclose(file);

    assert_int_equal(fs_read("result.h5", &bytes, &n, &err), 0);
    for (size_t i = 0; i < n; i += 7) {
        bytes[i] ^= 4;
        assert_int_equal(fs_write_atomic("result.h5", bytes, n, 0600, &err), 0);
        assert_int_equal(metrics_read_status("result.h5", &status, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        bytes[i] ^= 4;
    }
    assert_int_equal(fs_write_atomic("result.h5", bytes, n - 1, 0600, &err), 0);
    assert_int_equal(metrics_read_status("result.h5", &status, &err), -1);
    assert_int_equal(fs_write_atomic("result.h5", bytes, 5, 0600, &err), 0);
    assert_int_equal(metrics_read_status("result.h5", &status, &err), -1);
    free(bytes);
    metrics_table_clear(&reports);
    json_decref(res);
    json_decref(att);
}

/* Reports 1 to 4 of a metric: an integer, a text, a vector, a number. */
static void a_metric_of_several_kinds_is_in_a_group_of_each(void **state)
{
    json_t *none = json_array(), *res = result("finished");
    struct metrics_table reports = {0};
    struct error err;
    hid_t file;

    (void)state;
    add(&reports, json_pack("{s:i, s:i, s:{s:{}}}", "training_iteration", 1, "a/b", 7,
                            "by_rank", "a/b"));
    add(&reports, json_pack("{s:i, s:s, s:{s:{}}}", "training_iteration", 2, "a/b", "x",
                            "by_rank", "a/b"));
    add(&reports, json_pack("{s:i, s:[i, i], s:{s:{}}}", "training_iteration", 3, "a/b",
                            1, 2, "by_rank", "a/b"));
    add(&reports, report(4, 0, 0.5));
    add(&reports, json_pack("{s:i, s:f, s:{s:{s:f}}}", "training_iteration", 5, "a/b",
                            0.5, "by_rank", "a/b", "rank0", 3.0));
    assert_int_equal(metrics_write_h5("result.h5", &reports, res, none, &err), 0);
    file = H5Fopen("result.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    column_check(file, "/metrics/a/b", (double[]){7, NAN, NAN, NAN, 0.5}, 5);
    column_check(file, "/metrics_rank0/a/b", (double[]){7, NAN, NAN, NAN, 3}, 5);
    column_check(file, "/metrics_vector/a/b",
                 (double[]){NAN, NAN, NAN, NAN, 1, 2, NAN, NAN, NAN, NAN}, 10);
    assert_true(H5Lexists(file, "/metrics_text/a/b", H5P_DEFAULT) > 0);
    H5Fclose(file);
    metrics_table_clear(&reports);
    json_decref(none);
    json_decref(res);
}

static void a_result_may_have_no_reports(void **state)
{
    const struct metrics_table empty = {0};
    json_t *none = json_array(), *res = result("stopped");
    struct error err;
    char *status;

    (void)state;
    assert_int_equal(metrics_read_status("result.h5", &status, &err), 0);
    assert_null(status);
    assert_int_equal(metrics_write_h5("result.h5", &empty, res, none, &err), 0);
    assert_int_equal(metrics_read_status("result.h5", &status, &err), 0);
    assert_string_equal(status, "stopped");
    free(status);
    assert_int_equal(metrics_write_h5("absent/result.h5", &empty, res, none, &err), -1);
    assert_int_equal(scratch_count("."), 1);
    json_decref(none);
    json_decref(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_are_collected_as_they_come,
                                        scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(
            the_next_launcher_continues_after_one_was_killed, scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(each_launcher_has_a_file_of_its_own,
                                        scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(a_report_that_may_be_missing_counts_once,
                                        scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(
            what_all_workers_report_is_passed_on_and_not_kept, scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(incomplete_and_invalid_lines_are_skipped,
                                        scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_delays_and_loses_nothing,
                                        scratch_enter, teardown),
        cmocka_unit_test_setup_teardown(load_keeps_valid_reports, scratch_enter,
                                        teardown),
        SCRATCH(a_table_takes_lines_as_they_are),
        SCRATCH(the_result_is_written_as_hdf5),
        SCRATCH(values_of_rank_0_and_means_are_not_mixed_up),
        SCRATCH(a_metric_of_several_kinds_is_in_a_group_of_each),
        SCRATCH(a_result_may_have_no_reports),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
