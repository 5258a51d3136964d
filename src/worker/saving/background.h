/*
 * background.h - a thread that runs jobs one after the other, in the order in which
 * they were added. There are two such threads: one writes checkpoints, the other
 * flushes them from the tiers to storage.
 *
 * The data of a job belong to the thread from background_add() until background_wait()
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
/* Add run(arg, iteration); from any thread. May fail with RAYTRAIN_ENOMEM, but not
 * while no job is left. */
int background_add(struct background *b, void (*run)(void *arg, int64_t iteration),
                   void *arg, int64_t iteration, struct error *err);
/* Wait for at most `seconds` until n_left or fewer jobs are left, including the running
 * one. Returns whether they are. */
bool background_wait(struct background *b, size_t n_left, double seconds);
/* No job may be left. Accepts NULL. */
void background_destroy(struct background *b);

#endif
