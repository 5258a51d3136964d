/*
 * logged_report.h - a report as it is passed to the launcher: its line in the log, a few
 * numbers, and the whole as JSON, parsed on demand. A training function may make
 * 20,000 reports a second; to parse one takes as long as to make it.
 */
#ifndef RAYTRAIN_RUN_LOGGED_REPORT_H
#define RAYTRAIN_RUN_LOGGED_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logged_report {
    const char *line; /* borrowed, as given to logged_report_init() */
    size_t n;
    int64_t iteration;
    double time_this_iter_s, checkpoint_write_s; /* 0: not in it */
    bool if_missing;                             /* METRICS_IF_MISSING */
    bool has_workers;                            /* METRICS_WORKERS */
    json_t *json, *workers;                      /* NULL until they are parsed */
};

/* False: the line is not a report. line[0..n) has a NUL after it, and outlives r. */
bool logged_report_init(struct logged_report *r, const char *line, size_t n);
/* r's own, without the marks of a journal; NULL: it is not a JSON object, or there is
 * no memory. */
const json_t *logged_report_json(struct logged_report *r);
/* r's own, an array of what each worker has reported; NULL: it is not known. */
const json_t *logged_report_workers(struct logged_report *r);
void logged_report_clear(struct logged_report *r);

#endif
