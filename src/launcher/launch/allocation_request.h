/*
 * allocation_request.h - an allocation to be taken, and the command that runs in it.
 *
 * All pointers are borrowed for the duration of a call.
 */
#ifndef RAYTRAIN_LAUNCH_ALLOCATION_REQUEST_H
#define RAYTRAIN_LAUNCH_ALLOCATION_REQUEST_H

#include "config/options.h"

struct allocation_request {
    const struct scaling_config *scaling;
    /* time, partition, account, qos; NULL: none */
    const struct submit_options *options;
    int stop_s; /* the workers are asked to stop this long before the end; 0: not */
    const char *name; /* a label for lists of jobs */
    char *const *command;
};

#endif
