/* metrics_impl.h - what metrics_log.c and metrics_collect.c share. */
#ifndef RAYTRAIN_RUN_METRICS_IMPL_H
#define RAYTRAIN_RUN_METRICS_IMPL_H

#include <stddef.h>

#include "run/metrics.h"

typedef void metrics_line_fn(void *arg, const char *line, size_t n);

/* Each complete line of a file that is not written meanwhile, or only grows. A file
 * that is not there has none. */
int metrics_lines(const char *path, metrics_line_fn *on_line, void *arg,
                  struct error *err);
/* Each line of the journals that result.json lacks, whose last line is `last` ("": it
 * has none). */
int metrics_outstanding(const char *run_dir, const char *last, metrics_line_fn *on_line,
                        void *arg, struct error *err);

/* The report in a line of a journal; NULL: there is none. *if_missing as in
 * metrics_report(). */
json_t *metrics_parse(const char *line, size_t n, bool *if_missing);
/* One line, without its end; malloc'ed, NULL without memory. */
char *metrics_render(const json_t *report);

/* Add a report to those that count: it takes back those of its iteration and later
 * ones, since an attempt that started from an older checkpoint went back there. -1
 * without memory. */
int metrics_keep(json_t *reports, const json_t *report);
bool metrics_has(const json_t *reports, const json_t *report);

#endif
