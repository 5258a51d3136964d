/*
 * own_signals.h - signals that a worker handles, and that its children do not.
 *
 * A process that the training function forks (a data loader) has a life of its own: it
 * is to die of SIGTERM, and to crash without a word of ours. So it gets back what was
 * there before, unless the training function has put another handler in the place of
 * ours.
 */
#ifndef RAYTRAIN_RANK_OWN_SIGNALS_H
#define RAYTRAIN_RANK_OWN_SIGNALS_H

#include "util/error.h"

/* Handle the signal in this process, also if what started it has blocked it. flags:
 * sigaction(2)'s. */
int own_signal_install(int signo, void (*handler)(int), int flags, struct error *err);

/* Around the start of libraries that put handlers of their own before ours, and call
 * ours from there (MPICH does so for SIGUSR1): those are not for children, either. */
void own_signals_before_libraries(void);
void own_signals_after_libraries(void);

/* Around fork(2), in the thread that forks: no signal of ours is delivered in between.
 * All three are async-signal-safe. */
void own_signals_hold(void);
void own_signals_release(void);
/* In the child, before the release. */
void own_signals_reset(void);

#endif
