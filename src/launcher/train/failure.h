/*
 * failure.h - what went wrong in an attempt, in the user's words: which rank on which
 * node, how, and what its log says last.
 *
 * Sources: the launcher's outcome (exit status, signal) and the record that the first
 * failing worker leaves in logs/attempt-K/error.json.
 */
#ifndef RAYTRAIN_TRAIN_FAILURE_H
#define RAYTRAIN_TRAIN_FAILURE_H

#include "config/train_config.h"
#include "launch/launcher.h"

struct failure {
    int rank;             /* -1: unknown */
    char host[256];       /* "": unknown */
    int exit_status;      /* of that worker; 0: none */
    int signal;           /* that killed it; 0: none */
    bool never_started;   /* the workers could not be started */
    bool final;           /* no retry can help: bad input, storage, configuration */
    raytrain_status code; /* decides the exit status of raytrain-run */
    char message[ERROR_TEXT_MAX]; /* one sentence */
    char log[4096];               /* path of the worker's log; "": unknown */
    char tail[4096];              /* its last lines, control characters escaped; "" */
};

/* Put both sources together. Never fails: what cannot be read is left out. */
void failure_describe(const struct launch_outcome *outcome, const char *log_dir,
                      int n_workers, struct failure *failure);

/* All workers left with good statuses before they had come together. Another try would
 * end in the same way. */
void failure_never_joined(const struct train_config *cfg, int n_workers,
                          struct failure *failure);

/* A rank that the launcher killed while it wrote its record may have left a temporary,
 * where the file system has no nameless files. All of them are gone: remove it. */
void failure_tidy(const char *log_dir);

#endif
