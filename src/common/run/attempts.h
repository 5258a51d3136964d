/*
 * attempts.h - the records of a run's attempts, read back: what each has left in
 * logs/attempt-K/attempt.json (train/attempt_record.h), and what the log of reports and
 * the checkpoints tell about it.
 */
#ifndef RAYTRAIN_RUN_ATTEMPTS_H
#define RAYTRAIN_RUN_ATTEMPTS_H

#include <jansson.h>
#include <stdbool.h>

#include "util/error.h"

/*
 * All attempts of a run, in order: a new array of objects, each the record with
 *
 *   outcome          one without an end is "running", for the last attempt of a run
 *                    that is held, else "interrupted": its launcher was killed
 *   reports          how many it made
 *   iteration        of its last report; null: it made none
 *   lost_iterations, lost_seconds
 *                    from the checkpoint that the run went on from, or would, to that
 *                    report: work that was or is to be done again; null where the
 *                    attempt has finished or is running, lost_seconds also where it
 *                    cannot be told
 *
 * An attempt without a readable record has {"attempt"} and those.
 */
int attempts_load(const char *run_dir, bool held, json_t **attempts, struct error *err);

#endif
