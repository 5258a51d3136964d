/*
 * metrics.h - the log of reports: result.json (one object a line, the log of record)
 * and result.h5 (the same as HDF5, written whole, renamed into place).
 */
#ifndef RAYTRAIN_RUN_METRICS_H
#define RAYTRAIN_RUN_METRICS_H

#include <jansson.h>
#include <stdbool.h>

#include "util/error.h"

/*
 * Reports travel in the journal of their attempt, LOG_DIR/reports.0 and so on, which
 * rank 0 of the workers writes. The launcher collects them from there into result.json:
 * it may be on another node, and files that grow do not travel (journal.h). While a
 * launcher lives the last reports may be in the journal alone, and when it has died
 * they are, until the next one comes: a reader of a run's reports reads both.
 */
#define METRICS_JOURNAL "reports"

/* -- write (rank 0 of the workers) -- */
/* Add a report to a journal; NaN and infinities become null. if_missing: it counts only
 * if there is none of its iteration. */
struct journal;
int metrics_report(struct journal *journal, const json_t *report, bool if_missing,
                   struct error *err);

/* -- collect (the launcher) -- */
/* What earlier launchers have not collected is collected first. result.json becomes a
 * new file, to which no other process has a descriptor, and of which no other node
 * has cached a size. */
struct metrics_collector;
int metrics_collector_open(const char *run_dir, struct metrics_collector **out,
                           struct error *err);
/* From now on, the reports of the attempt with this log directory. */
int metrics_collector_follow(struct metrics_collector *c, const char *log_dir,
                             struct error *err);
/* Calls on_report for each new report, also if result.json cannot be written: then it
 * is tried again. */
int metrics_collector_poll(struct metrics_collector *c,
                           void (*on_report)(void *arg, const json_t *report),
                           void *arg, struct error *err);
/* All is collected: result.json is durable, a new file again, and complete for every
 * node; the journals go. */
int metrics_collector_settle(struct metrics_collector *c, struct error *err);
void metrics_collector_close(struct metrics_collector *c); /* NULL is fine */

/* -- read -- */
/* Calls on_report for every report of a run, in order of time; skips what is no
 * object. */
int metrics_each(const char *run_dir,
                 void (*on_report)(void *arg, const json_t *report), void *arg,
                 struct error *err);
/* All reports of a run as a JSON array: those that count. Where a later attempt went
 * back and reported an iteration again, the later one counts. */
int metrics_load(const char *run_dir, json_t **reports, struct error *err);

/*
 * result.h5 (raytrain-format(5)): reports is metrics_load's array, result the Result
 * object of DESIGN §4 (status, path, metrics, checkpoint, best_checkpoint, attempts,
 * error), attempts an array of objects {attempt, workers, nodes, start, end, outcome,
 * ...}.
 */
int metrics_write_h5(const char *path, const json_t *reports, const json_t *result,
                     const json_t *attempts, struct error *err);
/* The status in result.h5 ("finished", "failed", "stopped"), malloc'ed; NULL if no
 * file. */
int metrics_read_status(const char *path, char **status, struct error *err);

#endif
