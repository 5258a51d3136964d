/*
 * background.h - a thread that runs jobs one after the other, in the order in which
 * they were added. There are two of these: one writes checkpoints, the other flushes
 * them from the tiers to storage.
 *
 * What a job touches is the thread's from background_add() until background_wait()
 * returns that the job is done.
 */
#ifndef RAYTRAIN_SAVING_BACKGROUND_H
#define RAYTRAIN_SAVING_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct background;

/* The thread has all signals blocked: they are for the main thread. */
int background_create(struct background **out, struct error *err);
/* Add run(arg, iteration); from any thread. RAYTRAIN_ENOMEM; never while no job is
 * left. */
int background_add(struct background *b, void (*run)(void *arg, int64_t iteration),
                   void *arg, int64_t iteration, struct error *err);
/* Wait at most so many seconds until at most n_left jobs are left, the running one
 * included. True: that is so. */
bool background_wait(struct background *b, size_t n_left, double seconds);
/* No job may be left. NULL is fine. */
void background_destroy(struct background *b);

#endif
