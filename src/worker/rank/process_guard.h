/*
 * process_guard.h - handles what a training function may do to its process: fork, and
 * call exit(3).
 *
 * A process that it forks (a data loader) is not a worker: signals have their usual
 * effect on it (own_signals.h), and it dies with its worker. Launchers ensure the
 * latter by the worker's process group; this covers the case that the launcher and all
 * its helpers are killed. It works for children that the worker's main thread forks:
 * the kernel ties a child to the thread that forked it, and other threads may end
 * before their children should.
 *
 * An exit(3) is a failure of the training function, not a normal end of the worker.
 */
#ifndef RAYTRAIN_RANK_PROCESS_GUARD_H
#define RAYTRAIN_RANK_PROCESS_GUARD_H

#include <stdbool.h>

#include "util/error.h"

/* From now on, for the children of this process, but not for theirs. */
int fork_guard_install(struct error *err);

/* Between enter and leave, exit(3) calls on_exit with the status that it was given, and
 * the process leaves with status 1. */
void exit_guard_enter(void (*on_exit)(void *arg, int status), void *arg);
/* In a child that was forked in between this does not return: the child exits with
 * `status`. If it calls exit(3), it exits with the status that it gives, without
 * on_exit. The exit handlers of our libraries run in the worker only. */
void exit_guard_leave(int status);

/* Leave at once: streams are flushed, exit handlers are not called. A build with
 * sanitizers looks for leaks first if that makes sense (`leak_check`). */
void exit_now(int status, bool leak_check) __attribute__((noreturn));

#endif
