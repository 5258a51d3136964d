/*
 * attempt_record.h - the record of one attempt: logs/attempt-K/attempt.json, written
 * when the attempt starts, when its checkpoint is restored, and when it ends. A record
 * without an end belongs to a launcher that was killed. run/attempts.h reads them.
 *
 *   {"attempt": 0, "workers": 2, "launcher": "local", "nodes": [{"name","tasks"}],
 *    "start": Unix time, "end": Unix time,
 *    "outcome": "finished" | "failed" | "stopped",
 *    "cause": protocol/failure.h's word unless it has finished, else null,
 *    "checkpoint": file it started from or null,
 *    "started_from": of the first attempt, what the run was started from
 *    (run/run_start.h),
 *    "job", "restarts": in a job of a batch system, its id, and how often it had been
 *    requeued,
 *    "same_step": true if it ran in the job step of the attempt before,
 *    "progress_before": when the launcher began, the iteration of the newest checkpoint
 *    of the run, -1 without one, or how many parts of a prediction there were,
 *    "message", "rank", "host", "signal", "exit_status": unless it has finished, the
 *    failure record; signal is that which killed the rank, or, of a stop, that
 *    raytrain-run received}
 */
#ifndef RAYTRAIN_TRAIN_ATTEMPT_RECORD_H
#define RAYTRAIN_TRAIN_ATTEMPT_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "launch/placement.h"
#include "util/error.h"

#define ATTEMPT_SAME_STEP_KEY "same_step"

/* A record of an attempt that has just started; NULL without memory. The caller
 * decrefs. */
json_t *attempt_create(int attempt, const char *launcher, const struct placement *plan,
                       int64_t progress_before);
/* Reads the record in a log directory: was the attempt stopped, other than to make room
 * for another job? Then *progress_before is set. */
bool attempt_was_stopped(const char *log_dir, int64_t *progress_before);
/* -1 without memory. */
int attempt_job_set(json_t *record, const char *job, int restarts);
/* How many attempts of the run before number `before` were made by this job, before its
 * requeues, and were preempted? */
int attempt_preemptions(const char *run_dir, int before, const char *job, int restarts);
/* Write it into its log directory, atomically. */
int attempt_save(const json_t *attempt, const char *log_dir, struct error *err);
/* Remove the temporary file of a writer that was killed. */
void attempt_tidy(const char *log_dir);

#endif
