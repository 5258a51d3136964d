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

#include "scratch.h"
#include "store/metrics.h"
#include "util/fs.h"

static json_t *report(int iteration, int attempt, double loss)
{
    return json_pack("{s:i, s:i, s:o, s:{s:{s:f, s:f, s:f}}, s:s?}",
                     "training_iteration", iteration, "attempt", attempt, "loss",
                     isnan(loss) ? json_null() : json_real(loss), "by_rank", "loss",
                     "rank0", loss == loss ? loss : 0.0, "min", -1.0, "max", 9.0,
                     "checkpoint", iteration % 2 ? NULL : "checkpoint_000002.h5");
}

static void append(struct metrics_log *log, json_t *line)
{
    struct error err;

    assert_non_null(line);
    assert_int_equal(metrics_log_append(log, line, &err), 0);
    json_decref(line);
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

static void append_and_follow(void **state)
{
    struct metrics_log *log;
    struct metrics_tail *tail, *late;
    struct seen seen = {0}, seen_late = {0};
    struct error err;

    (void)state;
    assert_int_equal(metrics_tail_open("result.json", false, &tail, &err), 0);
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(seen.n, 0);
    assert_int_equal(metrics_log_open("result.json", &log, &err), 0);
    append(log, report(1, 0, 0.5));
    append(log, report(2, 0, NAN));
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(seen.n, 2);
    assert_int_equal(metrics_tail_open("result.json", true, &late, &err), 0);
    append(log, report(3, 0, 0.25));
    metrics_log_close(log);
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.last, 3);
    assert_int_equal(metrics_tail_poll(late, count, &seen_late, &err), 0);
    assert_int_equal(seen_late.n, 1);
    metrics_tail_close(tail);
    metrics_tail_close(late);
}

/* What cannot be synced (a FIFO; a file that has outgrown a quota) is not durable. */
static void a_log_that_is_not_durable_is_told(void **state)
{
    struct metrics_log *log;
    struct error err;

    (void)state;
    assert_int_equal(metrics_log_open("f", &log, &err), 0);
    append(log, report(1, 0, 0.5));
    assert_int_equal(metrics_log_sync(log, &err), 0);
    metrics_log_close(log);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(metrics_log_open("fifo", &log, &err), 0);
    assert_int_equal(metrics_log_sync(log, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "fifo"));
    metrics_log_close(log);
}

static void half_lines_and_rubbish(void **state)
{
    static const char text[] = "{\"training_iteration\":1}\n[1,2]\nrubbish\n\n{\"trai";
    struct metrics_log *log;
    struct metrics_tail *tail;
    struct seen seen = {0};
    struct error err;
    char *after;

    (void)state;
    assert_int_equal(fs_write_atomic("f", text, strlen(text), 0600, &err), 0);
    assert_int_equal(metrics_tail_open("f", false, &tail, &err), 0);
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(metrics_log_open("f", &log, &err), 0);
    append(log, report(7, 1, 0));
    append(log, report(8, 1, 0));
    metrics_log_close(log);
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.last, 8);
    metrics_tail_close(tail);
    assert_int_equal(fs_read("f", &after, NULL, &err), 0);
    assert_memory_equal(after, text, strlen(text));
    assert_int_equal(after[strlen(text)], '\n');
    free(after);
}

static void a_line_longer_than_any_buffer(void **state)
{
    struct metrics_log *log;
    struct metrics_tail *tail;
    struct seen seen = {0};
    struct error err;
    char *big = malloc(300001);

    (void)state;
    memset(big, 'x', 300000);
    big[300000] = '\0';
    assert_int_equal(metrics_log_open("f", &log, &err), 0);
    append(log, report(1, 0, 0));
    append(log, json_pack("{s:i, s:s}", "training_iteration", 2, "text", big));
    append(log, report(3, 0, 0));
    metrics_log_close(log);
    assert_int_equal(metrics_tail_open("f", false, &tail, &err), 0);
    assert_int_equal(metrics_tail_poll(tail, count, &seen, &err), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.last, 3);
    metrics_tail_close(tail);
    free(big);
}

static void a_full_disk_leaves_whole_lines(void **state)
{
    struct rlimit before, small;
    struct metrics_log *log;
    struct error err;
    json_t *line = report(2, 0, 0.5), *kept;
    char *first, *after;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(metrics_log_open("f", &log, &err), 0);
    append(log, report(1, 0, 0.5));
    assert_int_equal(fs_read("f", &first, NULL, &err), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = strlen(first) + 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(metrics_log_append(log, line, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(fs_read("f", &after, NULL, &err), 0);
    assert_string_equal(after, first);
    assert_int_equal(metrics_log_append(log, line, &err), 0);
    metrics_log_close(log);
    assert_int_equal(metrics_load("f", &kept, &err), 0);
    assert_int_equal(json_array_size(kept), 2);
    json_decref(kept);
    json_decref(line);
    free(first);
    free(after);
}

/* A later attempt that went back takes the place of what it repeats. */
static void load_keeps_those_that_count(void **state)
{
    static const struct {
        int iteration, attempt;
    } lines[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {3, 1}, {4, 1}, {5, 1}, {5, 2}};
    static const int want[] = {0, 0, 1, 1, 2};
    struct metrics_log *log;
    struct error err;
    json_t *kept;

    (void)state;
    assert_int_equal(metrics_load("absent", &kept, &err), 0);
    assert_int_equal(json_array_size(kept), 0);
    json_decref(kept);
    assert_int_equal(metrics_log_open("f", &log, &err), 0);
    for (size_t i = 0; i < 8; i++)
        append(log, report(lines[i].iteration, lines[i].attempt, 0));
    append(log, json_pack("{s:s}", "no", "report"));
    metrics_log_close(log);
    assert_int_equal(metrics_load("f", &kept, &err), 0);
    assert_int_equal(json_array_size(kept), 5);
    for (size_t i = 0; i < 5; i++) {
        json_t *one = json_array_get(kept, i);

        assert_int_equal(json_integer_value(json_object_get(one, "training_iteration")),
                         i + 1);
        assert_int_equal(json_integer_value(json_object_get(one, "attempt")), want[i]);
    }
    json_decref(kept);
}

/* ---- result.h5 --------------------------------------------------------------------
 */

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
    double got[8];

    assert_true(set >= 0);
    assert_int_equal(
        H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got), 0);
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])));
    H5Dclose(set);
}

static void result_as_hdf5(void **state)
{
    json_t *reports = json_array(), *res = result("failed"), *att = attempts();
    struct error err;
    char *status, *bytes;
    size_t n;
    hid_t file;

    (void)state;
    json_array_append_new(reports, report(1, 0, 0.5));
    json_array_append_new(reports, report(2, 0, NAN));
    /* Names that cannot all be paths. */
    json_array_append_new(reports,
                          json_pack("{s:i, s:f, s:f, s:{s:{s:f}, s:{}}}",
                                    "training_iteration", 3, "loss/x", 4.0, "a/./b",
                                    5.0, "by_rank", "loss/x", "rank0", 6.0, "a/./b"));
    assert_int_equal(metrics_write_h5("result.h5", reports, res, att, &err), 0);
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
    json_decref(reports);
    json_decref(res);
    json_decref(att);
}

static void result_of_nothing(void **state)
{
    json_t *none = json_array(), *res = result("stopped");
    struct error err;
    char *status;

    (void)state;
    assert_int_equal(metrics_read_status("result.h5", &status, &err), 0);
    assert_null(status);
    assert_int_equal(metrics_write_h5("result.h5", none, res, none, &err), 0);
    assert_int_equal(metrics_read_status("result.h5", &status, &err), 0);
    assert_string_equal(status, "stopped");
    free(status);
    assert_int_equal(metrics_write_h5("absent/result.h5", none, res, none, &err), -1);
    assert_int_equal(scratch_count("."), 1);
    json_decref(none);
    json_decref(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(append_and_follow),
        SCRATCH(a_log_that_is_not_durable_is_told),
        SCRATCH(half_lines_and_rubbish),
        SCRATCH(a_line_longer_than_any_buffer),
        SCRATCH(a_full_disk_leaves_whole_lines),
        SCRATCH(load_keeps_those_that_count),
        SCRATCH(result_as_hdf5),
        SCRATCH(result_of_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
