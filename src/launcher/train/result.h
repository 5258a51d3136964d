/*
 * result.h - the Result of a run: the object that --json prints and result.h5 holds.
 *
 *   {"status": "finished" | "stopped" | "failed", "path": RUN,
 *    "metrics": the last report or null, "checkpoint": path of the newest or null,
 *    "best_checkpoint": path or null, "attempts": number,
 *    "cause": null if it has finished, else a word of protocol/failure.h,
 *    "error": null or {"message", "rank", "host", "signal", "exit_status", "log"}}
 */
#ifndef RAYTRAIN_TRAIN_RESULT_H
#define RAYTRAIN_TRAIN_RESULT_H

#include "run/metrics_table.h"
#include "train/backend_executor.h"

/* Gather the Result from the run directory, its reports (metrics_load_table()) and how
 * the run ended; *result is new. */
int result_create(const char *run_dir, const struct train_config *cfg,
                  const struct run_outcome *outcome,
                  const struct metrics_table *reports, json_t **result,
                  struct error *err);
/* Write RUN/result.h5: Result, all reports that count, all attempts. */
int result_write(const char *run_dir, const struct metrics_table *reports,
                 const json_t *result, struct error *err);
/* Remove the temporary files of a process that was writing it. */
void result_tidy(const char *run_dir);
/* Remove it durably before the run continues. If there is none, that is not an
 * error. */
int result_remove(const char *run_dir, struct error *err);

#endif
