/*
 * exit_guard.h - leaving the process, and noticing when somebody else's code does.
 */
#ifndef RAYTRAIN_RANK_EXIT_GUARD_H
#define RAYTRAIN_RANK_EXIT_GUARD_H

#include <stdbool.h>

/* Between enter and leave exit(3) means failure: on_exit is called with the status that
 * was asked for, and the process leaves with status 1. */
void exit_guard_enter(void (*on_exit)(void *arg, int status), void *arg);
/* A child that was forked in between does not come back from this: it leaves with
 * `status`, as it does, without on_exit, with the status that it gives to exit(3). What
 * our libraries would do at its exit is the worker's to do. */
void exit_guard_leave(int status);

/* Leave at once: streams are flushed, exit handlers are not called. A build with
 * sanitizers looks for leaks first if that makes sense (`leak_check`). */
void exit_now(int status, bool leak_check) __attribute__((noreturn));

#endif
