/* thread.h - threads beside the main one. */
#ifndef RAYTRAIN_UTIL_THREAD_H
#define RAYTRAIN_UTIL_THREAD_H

#include <pthread.h>

#include "util/error.h"

/* Start a thread with all signals blocked: they are for the main thread.
 * RAYTRAIN_ENOMEM. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
                 struct error *err);

/* The cores that this process may use, but at most so many. */
int thread_cores(int most);

#endif
