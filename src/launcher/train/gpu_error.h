/*
 * gpu_error.h - errors of GPUs that workers have reported in an attempt
 * (EVENT_GPU_ERROR), as the cause of its end.
 */
#ifndef RAYTRAIN_TRAIN_GPU_ERROR_H
#define RAYTRAIN_TRAIN_GPU_ERROR_H

#include <jansson.h>

#include "launch/attempt_plan.h"
#include "protocol/failure.h"

#define GPU_ERROR_DECIDED_MAX (FAILURE_HOST_MAX + 96)

/* The error to blame: the first of the hardware, or else the first one. */
struct gpu_error {
    char node[FAILURE_HOST_MAX];
    char text[512]; /* "": there was none */
    bool hardware;
};

void gpu_error_take(struct gpu_error *e, const json_t *event);

/* For a failed attempt: if a worker failed or hung, the error becomes a part of the
 * message; an error of the hardware is the cause, and its node is left out of later
 * attempts if they have room without it. planner: NULL if the launcher cannot choose
 * nodes. decided: the decision about the node, for the user; "": none. */
void gpu_error_blame(const struct gpu_error *e, struct attempt_planner *planner,
                     struct failure *failure, char decided[GPU_ERROR_DECIDED_MAX]);

#endif
