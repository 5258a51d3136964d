/*
 * worker_record.h - what the workers of an attempt put on record for the launcher, each
 * in a small file of its attempt's log directory that appears complete, by a rename:
 *
 *   step      the step of the batch system that they are, "4711.3"
 *   end.json  that all ranks have come to the end together, after their last collective
 *             call, and how: {"outcome": "finished" or "stopped", "workers": N}
 *
 * The verdict on an attempt needs the second: an exit status of 0 alone is also what
 * srun ends with when it is asked to go, and what a program ends with that has nothing
 * to do with raytrain.
 */
#ifndef RAYTRAIN_PROTOCOL_WORKER_RECORD_H
#define RAYTRAIN_PROTOCOL_WORKER_RECORD_H

#include <stdbool.h>

#include "util/error.h"

enum worker_end {
    WORKER_END_NONE, /* nothing is on record */
    WORKER_END_FINISHED,
    WORKER_END_STOPPED
};

#define WORKER_STEP_MAX 64

int worker_record_step(const char *log_dir, const char *step, struct error *err);
int worker_record_end(const char *log_dir, enum worker_end end, int workers,
                      struct error *err);

/* false, and an empty step, if there is none, or one that no batch system has. */
bool worker_record_read_step(const char *log_dir, char step[WORKER_STEP_MAX]);
/* WORKER_END_NONE also for a record that cannot be read, or of another number of
 * workers. */
enum worker_end worker_record_read_end(const char *log_dir, int workers);

/* The workers are gone: remove what one that was killed has left half written. */
void worker_record_tidy(const char *log_dir);

#endif
