/*
 * metrics_lines.h - the lines of result.json and of journals: those of a file, and those
 * that result.json lacks; a line as a JSON object and back. For metrics.c and
 * metrics_collector.c.
 */
#ifndef RAYTRAIN_RUN_METRICS_LINES_H
#define RAYTRAIN_RUN_METRICS_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

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
