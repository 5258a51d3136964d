/* metrics.c - the log of reports: read all lines; find the reports that count. */
#include "config.h"

#include "run/metrics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/metrics_lines.h"
#include "run/report_scan.h"
#include "run/run_dir.h"

static json_int_t iteration_of(const json_t *report)
{
    return json_integer_value(json_object_get(report, "training_iteration"));
}

/* Add a report to those that count. It replaces those of its iteration and later ones,
 * since its attempt went back to an older checkpoint. -1 without memory. */
static int reports_keep(json_t *reports, const json_t *report)
{
    size_t n = json_array_size(reports);

    if (!json_is_integer(json_object_get(report, "training_iteration")))
        return 0;
    while (n > 0 &&
           iteration_of(json_array_get(reports, n - 1)) >= iteration_of(report))
        json_array_remove(reports, --n);
    return json_array_append(reports, (json_t *)(uintptr_t)report);
}

static bool reports_have(const json_t *reports, const json_t *report)
{
    for (size_t i = json_array_size(reports); i-- > 0;)
        if (iteration_of(json_array_get(reports, i)) == iteration_of(report))
            return true;
    return false;
}

/* One pass over all reports. */
struct reading {
    char *last; /* last line of result.json */
    size_t room;
    void (*on_report)(void *arg, const json_t *report, bool if_missing);
    metrics_line_fn *on_line; /* in its place */
    void *arg;
    bool no_memory;
};

static void line_remember(struct reading *reading, const char *line, size_t n)
{
    if (n + 1 > reading->room) {
        char *bigger = realloc(reading->last, 2 * n + 1);

        if (!bigger) {
            reading->no_memory = true;
            return;
        }
        reading->last = bigger;
        reading->room = 2 * n + 1;
    }
    memcpy(reading->last, line, n + 1);
}

static void line_deliver(void *arg, const char *line, size_t n)
{
    struct reading *reading = arg;
    bool if_missing;
    json_t *report;

    if (reading->on_line) {
        reading->on_line(reading->arg, line, n);
        return;
    }
    report = metrics_line_parse(line, n, &if_missing, NULL);
    if (report)
        reading->on_report(reading->arg, report, if_missing);
    json_decref(report);
}

static void collected_deliver(void *arg, const char *line, size_t n)
{
    if (n > 0)
        line_remember(arg, line, n);
    line_deliver(arg, line, n);
}

static int reports_read(const char *run_dir, struct reading *reading, struct error *err)
{
    char *path = run_dir_file(run_dir, "result.json");
    int rc;

    if (!path)
        return error_no_memory(err);
    rc = metrics_lines_of_file(path, collected_deliver, reading, err);
    free(path);
    if (rc == 0 && !reading->no_memory)
        rc = metrics_lines_outstanding(run_dir, reading->last ? reading->last : "",
                                       line_deliver, reading, err);
    free(reading->last);
    return rc == 0 && reading->no_memory ? error_no_memory(err) : rc;
}

struct each {
    void (*on_report)(void *arg, const json_t *report);
    void *arg;
};

static void report_deliver(void *arg, const json_t *report, bool if_missing)
{
    struct each *each = arg;

    if (!if_missing)
        each->on_report(each->arg, report);
}

int metrics_each(const char *run_dir,
                 void (*on_report)(void *arg, const json_t *report), void *arg,
                 struct error *err)
{
    struct each each = {on_report, arg};
    struct reading reading = {.on_report = report_deliver, .arg = &each};

    return reports_read(run_dir, &reading, err);
}

struct numbers {
    const char *keys[METRICS_SCANNED + 1]; /* the last one is METRICS_IF_MISSING */
    size_t n;
    void (*on_report)(void *arg, const double *numbers);
    void *arg;
};

static void line_scan(void *arg, const char *line, size_t n)
{
    struct numbers *wanted = arg;
    double values[METRICS_SCANNED + 1];

    if (report_scan(line, n, wanted->keys, wanted->n + 1, values) &&
        isnan(values[wanted->n]))
        wanted->on_report(wanted->arg, values);
}

int metrics_each_numbers(const char *run_dir, const char *const keys[], size_t n_keys,
                         void (*on_report)(void *arg, const double *numbers), void *arg,
                         struct error *err)
{
    struct numbers wanted = {.n = n_keys, .on_report = on_report, .arg = arg};
    struct reading reading = {.on_line = line_scan, .arg = &wanted};

    memcpy(wanted.keys, keys, n_keys * sizeof *keys);
    wanted.keys[n_keys] = METRICS_IF_MISSING;
    return reports_read(run_dir, &reading, err);
}

struct kept {
    json_t *reports;
    bool no_memory;
};

static void report_keep(void *arg, const json_t *report, bool if_missing)
{
    struct kept *kept = arg;

    if (if_missing && reports_have(kept->reports, report))
        return;
    if (reports_keep(kept->reports, report) < 0)
        kept->no_memory = true;
}

int metrics_load(const char *run_dir, json_t **reports, struct error *err)
{
    struct kept kept = {.reports = json_array()};
    struct reading reading = {.on_report = report_keep, .arg = &kept};
    int rc = kept.reports ? reports_read(run_dir, &reading, err) : error_no_memory(err);

    if (rc == 0 && kept.no_memory)
        rc = error_no_memory(err);
    if (rc == 0)
        *reports = kept.reports;
    else
        json_decref(kept.reports);
    return rc;
}

struct filled {
    struct metrics_table *table;
    bool no_memory;
};

static void line_add(void *arg, const char *line, size_t n)
{
    struct filled *filled = arg;

    if (metrics_table_add(filled->table, line, n) < 0)
        filled->no_memory = true;
}

int metrics_load_table(const char *run_dir, struct metrics_table *table,
                       struct error *err)
{
    struct filled filled = {.table = table};
    struct reading reading = {.on_line = line_add, .arg = &filled};
    int rc = reports_read(run_dir, &reading, err);

    return rc == 0 && filled.no_memory ? error_no_memory(err) : rc;
}
