/*
 * failure_record.h - why this attempt failed, for the launcher to tell: the first rank
 * that fails leaves RUN/logs/attempt-K/error.json; what fails in its wake leaves
 * nothing.
 */
#ifndef RAYTRAIN_RANK_FAILURE_RECORD_H
#define RAYTRAIN_RANK_FAILURE_RECORD_H

#include "util/error.h"

#define FAILURE_FILE "error.json"

struct failure {
    int rank; /* -1: not known yet */
    const char *host;
    const char *kind; /* "train_func", "exit", "storage", "config", "comm" */
    int status;       /* the exit status of this worker */
    const char *message;
};

/* The kind for a status of the library. */
const char *failure_kind(raytrain_status code);
/* Write the record, complete, if there is none yet: 0 also where there is one. */
int failure_record(const char *log_dir, const struct failure *failure,
                   struct error *err);

#endif
