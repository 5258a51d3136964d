/*
 * background.h - one thread that does one job at a time for the thread that made it.
 *
 * What a job touches is its own while it runs; it is the owner's before
 * background_run() and once background_wait() or background_is_idle() has said that the
 * job is done. All signals are blocked in the thread: they are for the main thread.
 */
#ifndef RAYTRAIN_UTIL_BACKGROUND_H
#define RAYTRAIN_UTIL_BACKGROUND_H

#include <stdbool.h>

#include "util/error.h"

struct background;

int background_create(struct background **out, struct error *err);
/* Hand over a job. There must be none under way. */
void background_run(struct background *b, void (*job)(void *arg), void *arg);
bool background_is_idle(struct background *b);
/* Wait for the job under way, at most so many seconds. True: there is none now. */
bool background_wait(struct background *b, double seconds);
/* There must be no job under way. NULL is fine. */
void background_destroy(struct background *b);

#endif
