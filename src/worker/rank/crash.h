/*
 * crash.h - a worker that dies of a signal says where: one line and a backtrace on
 * standard error, which is its log, before the signal takes its usual course.
 */
#ifndef RAYTRAIN_RANK_CRASH_H
#define RAYTRAIN_RANK_CRASH_H

/* Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT on a stack of their own,
 * where nobody has one yet. Does nothing in a build with sanitizers: they have their
 * own. */
void crash_install(void);
/* This worker's rank, for the line. */
void crash_set_rank(int rank);

#endif
