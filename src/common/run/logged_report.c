/*
 * logged_report.c - the numbers that the launcher needs from a report; the rest is
 * parsed by jansson on demand.
 */
#include "run/logged_report.h"

#include <math.h>

#include "run/metrics.h"
#include "run/metrics_lines.h"
#include "run/report_scan.h"

enum { ITERATION, TIME, WRITE, MARK, N_KEYS };

static const char *const keys[N_KEYS] = {
    [ITERATION] = "training_iteration",
    [TIME] = "time_this_iter_s",
    [WRITE] = "checkpoint_write_s",
    [MARK] = METRICS_IF_MISSING,
};

static double number_or_0(double value)
{
    return isfinite(value) ? value : 0;
}

bool logged_report_init(struct logged_report *r, const char *line, size_t n)
{
    double values[N_KEYS];

    *r = (struct logged_report){.line = line, .n = n};
    if (!report_scan(line, n, keys, N_KEYS, values))
        return false;
    if (fabs(number_or_0(values[ITERATION])) < 0x1p62)
        r->iteration = (int64_t)number_or_0(values[ITERATION]);
    r->time_this_iter_s = number_or_0(values[TIME]);
    r->checkpoint_write_s = number_or_0(values[WRITE]);
    r->if_missing = !isnan(values[MARK]);
    r->has_workers = metrics_line_has_workers(line);
    return true;
}

const json_t *logged_report_json(struct logged_report *r)
{
    bool if_missing;

    if (!r->json)
        r->json = metrics_line_parse(r->line, r->n, &if_missing, &r->workers);
    return r->json;
}

const json_t *logged_report_workers(struct logged_report *r)
{
    return r->has_workers && logged_report_json(r) ? r->workers : NULL;
}

void logged_report_clear(struct logged_report *r)
{
    json_decref(r->json);
    json_decref(r->workers);
    r->json = r->workers = NULL;
}
