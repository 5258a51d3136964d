/* run_pulse.h - which runs are in progress, for processes that only look, from any
 * host. */
#ifndef RAYTRAIN_RUN_RUN_PULSE_H
#define RAYTRAIN_RUN_RUN_PULSE_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run_lock.h"

struct run_pulse {
    bool alive;   /* a live process holds the run */
    bool awaited; /* not known yet */
    struct run_lock_sight sight;
};

/*
 * The pulses of the runs at these paths; free() them. NULL without memory. A lock of
 * another host that this node's kernel does not know, as on storage on which each node
 * has its own locks, is watched for some seconds, all of them together: a live holder
 * touches it.
 */
struct run_pulse *run_pulse_take(char *const paths[], size_t n);

#endif
