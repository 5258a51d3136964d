/*
 * metrics.h - the log of reports: result.json (append-only, one object a line, the log
 * of record) and result.h5 (the same as HDF5, written whole, renamed into place).
 */
#ifndef RAYTRAIN_STORE_METRICS_H
#define RAYTRAIN_STORE_METRICS_H

#include <jansson.h>
#include <stdbool.h>

#include "util/error.h"

/* -- append (rank 0 of the workers) -- */
/* Add one line (NaN and infinities become null); starts on a new line if a killed
 * writer left half of one. */
struct metrics_log;
int metrics_log_open(const char *path, struct metrics_log **out, struct error *err);
int metrics_log_append(struct metrics_log *log, const json_t *report,
                       struct error *err);
/* All lines are durable. Some file systems tell only now that one has found no room. */
int metrics_log_sync(struct metrics_log *log, struct error *err);
void metrics_log_close(struct metrics_log *log); /* unsynced; NULL is fine */

/* -- follow (the launcher) -- */
/* Calls on_report for each complete line since the last call; skips what is no object.
 * A file that is not there yet has no lines. Starts at the file's end if at_end. */
struct metrics_tail;
int metrics_tail_open(const char *path, bool at_end, struct metrics_tail **out,
                      struct error *err);
int metrics_tail_poll(struct metrics_tail *tail,
                      void (*on_report)(void *arg, const json_t *report), void *arg,
                      struct error *err);
void metrics_tail_close(struct metrics_tail *tail);

/* All reports of a run as a JSON array: those that count. Where a later attempt went
 * back and reported an iteration again, the later one counts. */
int metrics_load(const char *path, json_t **reports, struct error *err);

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
