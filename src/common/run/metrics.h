/*
 * metrics.h - the log of reports: result.json (one object per line, the authoritative
 * log) and result.h5 (the same as HDF5, written whole, renamed into place).
 */
#ifndef RAYTRAIN_RUN_METRICS_H
#define RAYTRAIN_RUN_METRICS_H

#include <jansson.h>
#include <stdbool.h>

#include "run/metrics_lines.h"
#include "run/metrics_table.h"
#include "util/error.h"

/* -- read -- */
/* Call on_report for every report of a run, in order of time; lines that are not
 * objects are skipped. */
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
