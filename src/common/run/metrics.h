/*
 * metrics.h - the log of reports: result.json (one object a line, the authoritative
 * log) and result.h5 (the same as HDF5, written whole, renamed into place).
 */
#ifndef RAYTRAIN_RUN_METRICS_H
#define RAYTRAIN_RUN_METRICS_H

#include <jansson.h>
#include <stdbool.h>

#include "run/metrics_table.h"
#include "util/error.h"

/*
 * Rank 0 of the workers writes reports to the journal of their attempt,
 * LOG_DIR/reports.0 and so on. The launcher collects them from there into result.json
 * (metrics_collector.h): it may be on another node, which does not see files grow (journal.h). The latest
 * reports may be in the journal alone, also after a launcher has died, until the next
 * one starts: so readers of reports read both.
 */
#define METRICS_JOURNAL "reports"
/* A key of a report in a journal: it counts only if there is none of its iteration. Not a
 * valid name of a metric. */
#define METRICS_IF_MISSING "?"
/* The first key of a report in a journal, if a callback wants to have it: an array of what
 * each worker has reported. It is passed on to callbacks, and is not kept. Not a valid name
 * either. */
#define METRICS_WORKERS "?workers"

/* -- read -- */
/* Calls on_report for every report of a run, in order of time; skips lines that are not
 * objects. */
int metrics_each(const char *run_dir,
                 void (*on_report)(void *arg, const json_t *report), void *arg,
                 struct error *err);
/* The same, but of each report only the numbers of these keys, as report_scan() finds
 * them. At most METRICS_SCANNED keys. */
#define METRICS_SCANNED 8
int metrics_each_numbers(const char *run_dir, const char *const keys[], size_t n_keys,
                         void (*on_report)(void *arg, const double *numbers), void *arg,
                         struct error *err);
/* All reports of a run that count, as a JSON array. If a later attempt went back and
 * reported an iteration again, the later report counts. */
int metrics_load(const char *run_dir, json_t **reports, struct error *err);
/* The same as columns, which need little memory. *table is zeros, but for on_supersede;
 * clear it. */
int metrics_load_table(const char *run_dir, struct metrics_table *table,
                       struct error *err);

/*
 * result.h5 (raytrain-format(5)): reports is that of metrics_load_table(); result is the
 * Result object (status, path, metrics, checkpoint, best_checkpoint, attempts, error);
 * attempts is an array of objects {attempt, workers, nodes, start, end, outcome, ...}.
 */
int metrics_write_h5(const char *path, const struct metrics_table *reports,
                     const json_t *result, const json_t *attempts, struct error *err);
/* The status in result.h5 ("finished", "failed", "stopped"), malloc'ed; NULL if no
 * file. */
int metrics_read_status(const char *path, char **status, struct error *err);
/* The same from the head of the file alone; what follows is not verified. */
int metrics_peek_status(const char *path, char **status, struct error *err);

#endif
