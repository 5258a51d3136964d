/*
 * failure_diagnosis.h - composes the message about a failure: which rank on which node,
 * what happened, and the last lines of its log.
 */
#ifndef RAYTRAIN_TRAIN_FAILURE_DIAGNOSIS_H
#define RAYTRAIN_TRAIN_FAILURE_DIAGNOSIS_H

#include "config/train_config.h"
#include "protocol/failure.h"

/* The log of the worker to blame. */
struct failure_log {
    char path[4096]; /* "": unknown */
    char tail[4096]; /* its last lines, control characters escaped; "" */
    bool shown;      /* the user has seen them as output of the worker */
};

/*
 * Complete a failure that a launcher or an observer has seen. The record of the first
 * failing worker replaces what they saw, unless that worker only lost another one,
 * which was killed; without a record, the message becomes a sentence about the exit
 * status or the signal. Never fails: what cannot be read is left out.
 */
void failure_diagnose(struct failure *failure, const char *log_dir, int n_workers,
                      struct failure_log *log);

/* The backend that a command without one may have lacked: its message or the last lines
 * of its log name a setting made by this backend. NULL: none. */
const char *failure_missed_backend(const struct train_config *cfg,
                                   const struct failure *failure,
                                   const struct failure_log *log);

/* Has NCCL rejected ranks that have the same GPU? */
bool failure_is_shared_gpu(const struct failure *failure,
                           const struct failure_log *log);

/* All workers exited with good statuses before they had come together, and would do so
 * again. */
void failure_never_joined(const struct train_config *cfg, int n_workers,
                          struct failure *failure);

#endif
