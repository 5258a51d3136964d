/*
 * attempts.h - read the records of a run's attempts: logs/attempt-K/attempt.json
 * (train/attempt_record.h), completed from the log of reports and the checkpoints.
 */
#ifndef RAYTRAIN_RUN_ATTEMPTS_H
#define RAYTRAIN_RUN_ATTEMPTS_H

#include <jansson.h>
#include <stdbool.h>

#include "util/error.h"

/*
 * All attempts of a run, in order: a new array of objects, each the record and
 *
 *   outcome          if the record has none: "running" for the last attempt of a run
 *                    that is locked, else "interrupted": its launcher was killed
 *   reports          the number of its reports
 *   iteration        of its last report; null: it made none
 *   lost_iterations, lost_seconds
 *                    from the checkpoint that the run continued from, or would, to that
 *                    report: work that is done twice; null if the attempt has finished
 *                    or is running; lost_seconds also if it is not known
 *
 * An attempt without a readable record has {"attempt"} and these.
 */
int attempts_load(const char *run_dir, bool held, json_t **attempts, struct error *err);

#endif
