/*
 * own_signals.h - signals that a worker handles, but not its children.
 *
 * A process that the training function forks (a data loader) is not a worker: SIGTERM
 * should end it, and a crash of it is not the worker's. So in the child each signal
 * gets back the action that it had before, unless the training function has replaced
 * our handler.
 */
#ifndef RAYTRAIN_RANK_OWN_SIGNALS_H
#define RAYTRAIN_RANK_OWN_SIGNALS_H

#include "util/error.h"

/* Handle the signal in this process, even if its parent had blocked it. flags: those of
 * sigaction(2). */
int own_signal_install(int signo, void (*handler)(int), int flags, struct error *err);

/* Call these before and after the start of libraries that install handlers of their
 * own, which call ours (MPICH does so for SIGUSR1): children must not have those
 * either. */
void own_signals_before_libraries(void);
void own_signals_after_libraries(void);

/* Call these before and after fork(2), in the thread that forks: none of our signals is
 * delivered in between. All three are async-signal-safe. */
void own_signals_hold(void);
void own_signals_release(void);
/* In the child, before the release. */
void own_signals_reset(void);

#endif
