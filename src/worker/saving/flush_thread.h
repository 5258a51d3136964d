/*
 * flush_thread.h - a thread that moves checkpoints, one after the other, in the order
 * in which they were handed over.
 */
#ifndef RAYTRAIN_SAVING_FLUSH_THREAD_H
#define RAYTRAIN_SAVING_FLUSH_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct mover;

/* `move` is called in the thread, which has all signals blocked. */
int mover_create(void (*move)(void *arg, int64_t iteration), void *arg,
                 struct mover **out, struct error *err);
/* Hand one over; from any thread. */
int mover_add(struct mover *m, int64_t iteration, struct error *err);
/* Wait until at most `left` are to be moved, or for so many seconds. True: so it is. */
bool mover_wait(struct mover *m, size_t left, double seconds);
/* There must be none left to move. NULL is fine. */
void mover_destroy(struct mover *m);

#endif
