/*
 * batch_request.h - a batch job to be submitted: what it needs, and what it runs.
 *
 * All pointers are borrowed for the duration of a call.
 */
#ifndef RAYTRAIN_LAUNCH_BATCH_REQUEST_H
#define RAYTRAIN_LAUNCH_BATCH_REQUEST_H

#include <stdbool.h>

#include "config/options.h"

#define BATCH_ID_MAX 64

struct batch_request {
    const struct scaling_config *scaling;
    const struct submit_options *options;
    const char *name; /* a label for lists of jobs, and of the log; any bytes */
    int stop_s;    /* send SIGUSR1 to the command this long before the end; 0: do not */
    bool survives; /* the job continues if a node is lost */
    const char *dir;      /* absolute: where the command runs */
    const char *prologue; /* shell lines before the command; NULL: none */
    char *const *command;
    /* the command after a requeue; NULL: the same */
    char *const *again;
};

/* The job, as the user can find it. */
struct batch_ticket {
    char id[BATCH_ID_MAX];
    char log[256]; /* its file's name, in the directory of the request */
};

#endif
