/*
 * worker_record.h - what the workers of an attempt record for the launcher, each in a
 * small file of the attempt's log directory that appears complete, by a rename:
 *
 *   step      their job step of the batch system, "4711.3"
 *   end.json  that all ranks have reached the end together, after their last collective
 *             call, and how: {"outcome": "finished" or "stopped", "workers": N}
 *
 * The verdict on an attempt needs the second: srun also exits with status 0 when it is
 * asked to terminate, and so does a program that has nothing to do with raytrain.
 */
#ifndef RAYTRAIN_PROTOCOL_WORKER_RECORD_H
#define RAYTRAIN_PROTOCOL_WORKER_RECORD_H

#include <stdbool.h>

#include "util/error.h"

enum worker_end {
    WORKER_END_NONE, /* nothing is recorded */
    WORKER_END_FINISHED,
    WORKER_END_STOPPED
};

#define WORKER_STEP_MAX 64

int worker_record_step(const char *log_dir, const char *step, struct error *err);
int worker_record_end(const char *log_dir, enum worker_end end, int workers,
                      struct error *err);

/* false, and an empty step, if there is none or it is not a valid one. */
bool worker_record_read_step(const char *log_dir, char step[WORKER_STEP_MAX]);
/* WORKER_END_NONE also if the record cannot be read, or is about another number of
 * workers. */
enum worker_end worker_record_read_end(const char *log_dir, int workers);

/* After the workers have ended: remove what a killed one has left half written. */
void worker_record_tidy(const char *log_dir);

#endif
