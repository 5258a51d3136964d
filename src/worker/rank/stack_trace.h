/*
 * stack_trace.h - a worker that is asked where it is, by WORKER_STACK_SIGNAL, says so:
 * its stack on standard error, which is its log, and its last collective call in the
 * attempt's whereabouts. Then it goes on.
 */
#ifndef RAYTRAIN_RANK_STACK_TRACE_H
#define RAYTRAIN_RANK_STACK_TRACE_H

#include <stdint.h>

#include "protocol/whereabouts.h"

/* After crash_install(), whose stack the handler runs on. Rank -1: not known yet. */
void stack_trace_install(int rank);
/* The place stays the caller's. */
void stack_trace_set_place(struct whereabouts_place *place);
/* What this process has come to; call is a literal. */
void stack_trace_set_call(const char *call, int64_t calls);

#endif
