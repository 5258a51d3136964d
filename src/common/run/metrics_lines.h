/*
 * metrics_lines.h - the lines of result.json and of journals: those of a file, and those
 * that result.json lacks; a line as a JSON object and back.
 */
#ifndef RAYTRAIN_RUN_METRICS_LINES_H
#define RAYTRAIN_RUN_METRICS_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/*
 * Rank 0 of the workers writes reports to the journal of their attempt,
 * LOG_DIR/reports.0 and so on. The launcher collects them from there into result.json
 * (metrics_collector.h): it may be on another node, which does not see files grow (journal.h). The latest
 * reports may be only in the journal, even after a launcher has died, until the next
 * one starts; so readers of reports read both.
 */
#define METRICS_JOURNAL "reports"
/* A key of a report in a journal: it counts only if there is none of its iteration. Not a
 * valid name of a metric. */
#define METRICS_IF_MISSING "?"
/* The first key of a report in a journal, if a callback wants to have it: an array of what
 * each worker has reported. It is passed on to callbacks, and is not kept. Not a valid name
 * either. */
#define METRICS_WORKERS "?workers"

/* line[0..n) has no newline, and a NUL after it. */
typedef void metrics_line_fn(void *arg, const char *line, size_t n);

/* A report as one line, without its newline; malloc'ed, NULL without memory. */
char *metrics_line_render(const json_t *report);
/* NULL: the line is not a report. *if_missing: it has METRICS_IF_MISSING, which is
 * removed. */
json_t *metrics_line_parse(const char *line, size_t n, bool *if_missing,
                           json_t **workers);
/* Has the line METRICS_WORKERS? Only its start is looked at. */
bool metrics_line_has_workers(const char *line);

/* Deliver each complete line of a file that does not change meanwhile, or only grows. A
 * missing file has none. */
int metrics_lines_of_file(const char *path, metrics_line_fn *on_line, void *arg,
                          struct error *err);
/* Deliver each line of the journals that result.json lacks; `last` is its last line
 * ("": it has none). */
int metrics_lines_outstanding(const char *run_dir, const char *last,
                              metrics_line_fn *on_line, void *arg, struct error *err);

#endif
