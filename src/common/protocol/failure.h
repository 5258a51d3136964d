/*
 * failure.h - why an attempt ended before its work was done. One record: it is filled
 * where that is seen first, in a worker, by the launcher of its processes or by an
 * observer, completed on its way, judged, and stored as it is.
 *
 *   a worker     LOG_DIR/error.json, of the first rank that fails (rank/failure_record.h)
 *   an attempt   LOG_DIR/attempt.json, even if it was stopped
 *   a run        the Result, if it failed
 */
#ifndef RAYTRAIN_PROTOCOL_FAILURE_H
#define RAYTRAIN_PROTOCOL_FAILURE_H

#include <jansson.h>
#include <stdbool.h>

#include "util/error.h"

/* What ended the attempt. */
enum attempt_cause {
    CAUSE_WORKER, /* a worker failed; also the value if nothing has ended it yet */
    CAUSE_OOM,    /* the kernel killed a worker for lack of memory */
    CAUSE_HANG,
    CAUSE_START, /* the workers did not come together */
    CAUSE_NODE_LOST,
    CAUSE_GPU, /* a GPU failed, and so did its worker */
    CAUSE_TIME_LIMIT,
    CAUSE_PREEMPTED,
    CAUSE_RESIZE,
    CAUSE_SIGNAL,  /* a stop was requested */
    CAUSE_CALLBACK /* a method of a UserCallback has failed, in the process of fit() */
};

/* The word for records: "worker", "oom", "hang", "start", "node_lost", "gpu",
 * "time_limit", "preempted", "resize", "signal", "callback". */
const char *attempt_cause_name(enum attempt_cause cause);

#define FAILURE_HOST_MAX 256
#define FAILURE_KIND_MAX 16

struct failure {
    enum attempt_cause cause;
    int rank; /* the first to fail, or the one to blame; -1: unknown */
    char host[FAILURE_HOST_MAX]; /* its node, or the lost one; "": unknown */
    int exit_status;             /* of that rank; 0: none */
    int signal;         /* that killed it, or that requested the stop; 0: none */
    bool never_started; /* the workers could not be started */
    bool final; /* another attempt would fail in the same way: bad input, storage */
    raytrain_status code; /* decides the exit status of raytrain-run; RAYTRAIN_OK: the
                             failure of a worker, like any other */
    char kind[FAILURE_KIND_MAX]; /* failure_kind(), of a worker's own record; else "" */
    char message[ERROR_TEXT_MAX]; /* one sentence, for the user; "": there is none */
};

#define FAILURE_UNKNOWN                                                                \
    {                                                                                  \
        .rank = -1                                                                     \
    }

/* The kind that a worker records for a status of the library: "train_func", "storage",
 * "config", "comm", "memory". Others are "exit" and "signal". */
const char *failure_kind(raytrain_status code);

/* {"message", "rank", "host", "signal", "exit_status"}: what all records of a failure
 * have. New; NULL without memory. */
json_t *failure_json(const struct failure *failure);

/*
 * Read the record that the first failing worker has left, if it has left one: false and
 * *failure as it was if not. Fills rank, host, exit_status, kind and message, and from
 * these code and final: what the worker itself could not do will fail again, what the
 * training function did may not.
 */
bool failure_read(const char *log_dir, struct failure *failure);

/* What a worker that crashes writes into its log, before its stack: a line that begins
 * with the first and contains the second. */
#define STACK_OF_WORKER "raytrain: worker"
#define STACK_OF_CRASH  " died of "

/* The path of that record, malloc'ed; NULL without memory. */
char *failure_path(const char *log_dir);
/* After the workers have ended: remove what a killed one has left half written. */
void failure_tidy(const char *log_dir);

#endif
