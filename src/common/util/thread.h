/* thread.h - threads beside the main one. */
#ifndef RAYTRAIN_UTIL_THREAD_H
#define RAYTRAIN_UTIL_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "util/error.h"

/* Block all signals but those of the thread's own faults, for a thread that is created
 * next: it inherits the mask. The caller restores `before` with pthread_sigmask(). */
void thread_signals_block(sigset_t *before);

/* Start a thread with these signals blocked: they are for the main thread.
 * RAYTRAIN_ENOMEM. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
                 struct error *err);

/* The cores that this process may use, but at most so many. */
int thread_cores(int most);

#endif
