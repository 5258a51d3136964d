/*
 * stack_trace.h - a worker writes its stack to standard error, which is its log:
 *
 *   - when it dies of a signal, before the signal takes its usual course;
 *   - when it is asked to by WORKER_STACK_SIGNAL. Then it also writes its last
 *     collective call into the rank status file, and continues.
 */
#ifndef RAYTRAIN_RANK_STACK_TRACE_H
#define RAYTRAIN_RANK_STACK_TRACE_H

#include <stdint.h>

#include "protocol/rank_status.h"

/*
 * Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, if they have their default
 * action, and for WORKER_STACK_SIGNAL, on a stack of their own. A build with sanitizers
 * leaves crashes to these. Rank -1: not known yet.
 */
void stack_trace_install(int rank);
/* The rank is known now, and where it writes. The place stays the caller's. */
void stack_trace_set_place(struct rank_status_place *place);
/* The latest collective call of this process; `call` is a literal. */
void stack_trace_set_call(const char *call, int64_t calls);

#endif
