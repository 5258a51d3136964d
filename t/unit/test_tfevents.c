/* Event files: checksums, records, and what is read back of them. */
#include <dirent.h>
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

#include "config.h"
#include "scratch.h"
#include "tfevents/crc32c.h"
#include "tfevents/summary_event.h"
#include "tfevents/event_files.h"
#include "tfevents/record.h"
#include "tfevents/run_events.h"
#include "util/fs.h"

static struct record_buffer buffer;
static struct error err;

/* ---- Checksums ---- */

/* The vectors of RFC 3720, B.4. */
static void checksums_are_crc32c(void **state)
{
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];

    (void)state;
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++) {
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    assert_int_equal(crc32c("", 0), 0);
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c(up, 32), 0x46dd794e);
    assert_int_equal(crc32c(down, 32), 0x113fdb5c);
}

static void checksums_of_records_are_masked(void **state)
{
    uint32_t masked = crc32c_masked("123456789", 9);
    uint32_t rotated = masked - 0xa282ead8u;

    (void)state;
    assert_int_equal(rotated >> 17 | rotated << 15, crc32c("123456789", 9));
}

/* ---- Records ---- */

struct seen {
    int n;
    size_t bytes;
    char first[16];
};

static void see(void *arg, const void *data, size_t n)
{
    struct seen *seen = arg;

    if (seen->n++ == 0)
        snprintf(seen->first, sizeof seen->first, "%.*s", (int)n, (const char *)data);
    seen->bytes += n;
}

static void put_record(const char *text)
{
    uint8_t *data = record_begin(&buffer, strlen(text));

    assert_non_null(data);
    memcpy(data, text, strlen(text));
    record_end(&buffer, strlen(text));
}

static struct seen seen_in(const void *data, size_t n)
{
    struct seen seen = {0};

    assert_int_equal(fs_replace("file", data, n, 0666, &err), 0);
    assert_int_equal(record_each("file", see, &seen, &err), 0);
    return seen;
}

static void records_read_back(void **state)
{
    struct seen seen;

    (void)state;
    put_record("one");
    put_record("");
    put_record("three");
    assert_int_equal(buffer.n, 3 * 16 + 8);
    seen = seen_in(buffer.data, buffer.n);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.bytes, 8);
    assert_string_equal(seen.first, "one");
    assert_int_equal(seen_in("", 0).n, 0);
    record_buffer_clear(&buffer);
}

/* A file that ends anywhere, or has any wrong bit, gives the sound records before. */
static void records_end_at_the_first_unsound_one(void **state)
{
    (void)state;
    put_record("one");
    put_record("two");
    for (size_t n = 0; n < buffer.n; n++)
        assert_int_equal(seen_in(buffer.data, n).n, n < 19 ? 0 : 1);
    for (size_t bit = 0; bit < 8 * buffer.n; bit++) {
        buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(seen_in(buffer.data, buffer.n).n, bit / 8 < 19 ? 0 : 1);
        buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    record_buffer_clear(&buffer);
}

static void a_length_that_cannot_be_is_the_end(void **state)
{
    uint8_t head[12] = {0};
    uint32_t crc;

    (void)state;
    memset(head, 0xff, 8);
    crc = crc32c_masked(head, 8);
    for (int i = 0; i < 4; i++)
        head[8 + i] = (uint8_t)(crc >> 8 * i);
    assert_int_equal(seen_in(head, sizeof head).n, 0);
}

/* ---- Files of a run ---- */

static void values_write(int64_t step, double attempt)
{
    const struct tfevents_value values[] = {
        {.tag = "loss", .number = 0.5},
        {.tag = "attempt", .number = attempt},
        {.tag = "note", .text = "attempt"},
    };

    assert_int_equal(tfevents_write_values(&buffer, 1e9, step, values, 3), 0);
}

static void file_end(const char *name)
{
    assert_int_equal(fs_replace(name, buffer.data, buffer.n, 0666, &err), 0);
    buffer.n = 0;
}

static void the_last_event_of_a_run_is_found(void **state)
{
    double number = 0;
    int64_t step = 0;
    bool found = true;

    (void)state;
    assert_int_equal(event_files_last(".", "attempt", &found, &step, &number, &err), 0);
    assert_false(found);

    values_write(7, 0);
    values_write(3, 2);
    assert_int_equal(tfevents_write_start(&buffer, 1e9, 4), 0);
    file_end("events.out.tfevents.0000000100.host.1.raytrain");
    assert_int_equal(tfevents_write_head(&buffer, 1e9), 0);
    file_end("events.out.tfevents.0000000200.host.2.raytrain");
    values_write(99, 9);
    file_end("events.out.tfevents.0000000300.host.3.v2");

    assert_int_equal(event_files_last(".", "attempt", &found, &step, &number, &err), 0);
    assert_true(found);
    assert_int_equal(step, 3);
    assert_true(number == 2);
    assert_int_equal(event_files_last(".", "other", &found, &step, &number, &err), 0);
    assert_false(found);
    record_buffer_clear(&buffer);
}

static void a_new_file_is_the_last_in_order(void **state)
{
    char *path;

    (void)state;
    file_end("events.out.tfevents.4000000000.host.1.raytrain");
    assert_int_equal(event_files_new(".", &path, &err), 0);
    assert_true(strncmp(path, "./events.out.tfevents.4000000001.", 33) == 0);
    free(path);
    assert_int_equal(event_files_new("./missing", &path, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
}

static void what_is_no_event_has_no_number(void **state)
{
    double number;
    int64_t step;

    (void)state;
    assert_false(tfevents_read_number("\xff\xff", 2, "loss", &step, &number));
    assert_false(tfevents_read_number("", 0, "loss", &step, &number));
}

/* ---- The reports of a run ---- */

static struct run_events *events;

static void launcher_start(void)
{
    events = run_events_new(".", json_pack("{s:f}", "rate", 0.5));
    assert_non_null(events);
}

static void launcher_end(void)
{
    assert_int_equal(run_events_flush(events, &err), 0);
    run_events_free(events);
}

static json_t *report_of(int attempt, int iteration)
{
    json_t *report = json_pack("{s:i, s:i, s:i, s:f, s:f, s:{s:{s:f}}}", "attempt",
                               attempt, "training_iteration", iteration, "timestamp",
                               1000000, "time_since_restore", 0.25 * iteration, "loss",
                               1.0 / iteration, "by_rank", "loss", "min", 0.0);

    assert_non_null(report);
    return report;
}

static void report_add(int attempt, int iteration)
{
    json_t *report = report_of(attempt, iteration);

    assert_int_equal(run_events_add(events, report, &err), 0);
    json_decref(report);
}

/* Into result.json, as the launcher does it. */
static void report_log(int attempt, int iteration)
{
    json_t *report = report_of(attempt, iteration);
    FILE *log = fopen("result.json", "a");

    assert_non_null(log);
    assert_int_equal(json_dumpf(report, log, JSON_COMPACT), 0);
    assert_int_equal(fputs("\n", log), 1);
    assert_int_equal(fclose(log), 0);
    json_decref(report);
}

static char written[256]; /* the reports in all files, in order: "ATTEMPT.STEP " */

static int n_written;

static void written_add(void *arg, const void *data, size_t n)
{
    size_t used = strlen(written);
    double attempt;
    int64_t step;

    (void)arg;
    if (!tfevents_read_number(data, n, "raytrain/attempt", &step, &attempt))
        return;
    n_written++;
    if (used < sizeof written - 1)
        snprintf(written + used, sizeof written - used, "%.0f.%d ", attempt, (int)step);
}

static int is_file(const struct dirent *entry)
{
    return strncmp(entry->d_name, "events.", 7) == 0 && !strstr(entry->d_name, ".end");
}

/* The reports in the files of the run; *n: how many files there are. */
static const char *reports_written(int *n)
{
    struct dirent **names;

    *n = scandir(".", &names, is_file, alphasort);
    written[0] = '\0';
    n_written = 0;
    for (int i = 0; i < *n; i++) {
        assert_int_equal(record_each(names[i]->d_name, written_add, NULL, &err), 0);
        free(names[i]);
    }
    free(names);
    return written;
}

static void each_report_is_written_once(void **state)
{
    int n;

    (void)state;
    report_log(0, 1);
    report_log(0, 2);
    launcher_start();
    assert_int_equal(run_events_catch_up(events, &err), 0);
    report_add(0, 2);
    report_add(0, 3);
    launcher_end();
    assert_string_equal(reports_written(&n), "0.1 0.2 0.3 ");
    assert_int_equal(n, 1);

    /* The next launcher was killed before it wrote these; another one continues. */
    report_log(0, 3);
    report_log(1, 2);
    report_log(1, 3);
    launcher_start();
    assert_int_equal(run_events_catch_up(events, &err), 0);
    report_add(2, 3);
    launcher_end();
    assert_string_equal(reports_written(&n), "0.1 0.2 0.3 1.2 1.3 2.3 ");
    assert_int_equal(n, 2);
}

static void nothing_to_add_makes_no_file(void **state)
{
    int n;

    (void)state;
    report_log(0, 1);
    launcher_start();
    assert_int_equal(run_events_catch_up(events, &err), 0);
    assert_int_equal(run_events_end(events, TFEVENTS_SUCCESS, &err), 0);
    launcher_end();
    launcher_start();
    assert_int_equal(run_events_catch_up(events, &err), 0);
    assert_int_equal(run_events_end(events, TFEVENTS_SUCCESS, &err), 0);
    launcher_end();
    assert_string_equal(reports_written(&n), "0.1 ");
    assert_int_equal(n, 1);
}

#ifdef RAYTRAIN_FAULTS
/* A write fails, twice; later the file has everything, without a gap. */
static void a_full_disk_loses_nothing(void **state)
{
    int n;

    (void)state;
    launcher_start();
    report_log(0, 1);
    report_add(0, 1);
    assert_int_equal(setenv("RAYTRAIN_FAULT", "events.write:all:enospc", 1), 0);
    assert_int_equal(run_events_flush(events, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    report_log(0, 2);
    report_add(0, 2);
    assert_int_equal(run_events_flush(events, &err), -1);
    assert_int_equal(unsetenv("RAYTRAIN_FAULT"), 0);
    launcher_end();
    assert_string_equal(reports_written(&n), "0.1 0.2 ");
}

/* So many reports that they are not kept: they are in result.json. */
static void what_is_not_kept_is_caught_up(void **state)
{
    enum { MANY = 100000 };
    double attempt;
    int64_t step;
    bool found;
    int n;

    (void)state;
    launcher_start();
    assert_int_equal(setenv("RAYTRAIN_FAULT", "events.write:all:enospc", 1), 0);
    for (int i = 1; i <= MANY; i++) {
        report_log(0, i);
        report_add(0, i);
    }
    assert_int_equal(run_events_flush(events, &err), -1);
    assert_int_equal(unsetenv("RAYTRAIN_FAULT"), 0);
    launcher_end();
    assert_int_equal(
        event_files_last(".", "raytrain/attempt", &found, &step, &attempt, &err), 0);
    assert_true(found && step == MANY);
    reports_written(&n);
    assert_int_equal(n_written, MANY);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_crc32c),
        cmocka_unit_test(checksums_of_records_are_masked),
        SCRATCH(records_read_back),
        SCRATCH(records_end_at_the_first_unsound_one),
        SCRATCH(a_length_that_cannot_be_is_the_end),
        SCRATCH(the_last_event_of_a_run_is_found),
        SCRATCH(a_new_file_is_the_last_in_order),
        cmocka_unit_test(what_is_no_event_has_no_number),
        SCRATCH(each_report_is_written_once),
        SCRATCH(nothing_to_add_makes_no_file),
#ifdef RAYTRAIN_FAULTS
        SCRATCH(a_full_disk_loses_nothing),
        SCRATCH(what_is_not_kept_is_caught_up),
#endif
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
