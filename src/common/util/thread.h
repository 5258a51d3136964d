/* thread.h - threads beside the main one. */
#ifndef RAYTRAIN_UTIL_THREAD_H
#define RAYTRAIN_UTIL_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "util/error.h"

/* Block all signals except those of a thread's own faults. A thread that is created
 * next inherits the mask. The caller restores `before` with pthread_sigmask(). */
void thread_signals_block(sigset_t *before);

/* Start a thread with these signals blocked, so that the main thread gets them.
 * RAYTRAIN_ENOMEM. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
                 struct error *err);

/* The number of cores that this process may use, at most `most`. */
int thread_cores(int most);

#endif
